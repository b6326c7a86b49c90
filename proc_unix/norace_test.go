//go:build !race

package procunix

const shadow = 1
