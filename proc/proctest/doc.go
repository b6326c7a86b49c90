// Package proctest states the contract of package proc as tests. Every
// backend runs them on its own system:
//
//	func TestMain(m *testing.M) {
//		proctest.HelperMain() // does not return in a helper process
//		os.Exit(m.Run())
//	}
//
//	func TestConformance(t *testing.T) {
//		proctest.Run(t, newBackend, helpers)
//	}
//
// The commands that the tests run are this test program itself, started again
// as a small helper, so that they behave alike whatever tools a system has.
// What its shell makes of text comes from the backend, in Helpers.
//
// It imports the standard library and proc.
package proctest
