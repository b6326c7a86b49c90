//go:build unix

package procunix

// A program initialises its packages in the order of their import paths,
// those first whose dependencies are ready. So this init runs before those of
// the many packages that depend on net, and a supervisor never carries their
// memory, nor waits for them: it makes up a fifth of both.
func init() {
	if isSupervisor() {
		supervise()
	}
}
