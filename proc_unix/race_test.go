//go:build unix && race

package procunix

// shadow is how much of its own memory the race detector keeps for a
// program's, besides that.
const shadow = 5
