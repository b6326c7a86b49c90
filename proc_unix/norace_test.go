//go:build unix && !race

package procunix

const shadow = 1
