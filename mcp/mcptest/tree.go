package mcptest

import "strings"

// Descendants lists the live processes below a process.
func Descendants(root int) []int {
	children := make(map[int][]int)
	for _, pid := range Processes() {
		if Alive(pid) {
			parent := Parent(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	var below []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		below = append(below, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return below
}

// Marked lists the live processes that have the marker on their command line.
func Marked(marker string) []int {
	var found []int
	for _, pid := range Processes() {
		if strings.Contains(CommandLine(pid), marker) && Alive(pid) {
			found = append(found, pid)
		}
	}
	return found
}
