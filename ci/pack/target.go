package main

import "fmt"

// target is a system and architecture, and the words that package managers have
// for it.
type target struct {
	os, arch string // as Go names them

	// wheel holds the platform tags of the wheel, in the order of PEP 425's file
	// names; none where PyPI takes no wheels. A static binary suits every libc.
	wheel []string
	// nodeOS and nodeCPU are process.platform and process.arch.
	nodeOS, nodeCPU string
	// bundle says whether clients that take MCP bundles run there.
	bundle bool
}

// targets is every target of .goreleaser.yaml. Go 1.26 asks for macOS 12.
func targets() []target {
	return []target{
		{"darwin", "amd64", []string{"macosx_12_0_x86_64"}, "darwin", "x64", true},
		{"darwin", "arm64", []string{"macosx_12_0_arm64"}, "darwin", "arm64", true},
		{"freebsd", "amd64", nil, "freebsd", "x64", false},
		{"freebsd", "arm64", nil, "freebsd", "arm64", false},
		{"linux", "amd64", linuxTags("x86_64"), "linux", "x64", true},
		{"linux", "arm", append(linuxTags("armv7l"), "linux_armv6l"), "linux", "arm", false},
		{"linux", "arm64", linuxTags("aarch64"), "linux", "arm64", true},
		{"windows", "386", []string{"win32"}, "win32", "ia32", false},
		{"windows", "amd64", []string{"win_amd64"}, "win32", "x64", true},
		{"windows", "arm64", []string{"win_arm64"}, "win32", "arm64", true},
	}
}

func linuxTags(machine string) []string {
	return []string{"manylinux_2_17_" + machine, "manylinux2014_" + machine, "musllinux_1_1_" + machine}
}

func findTarget(os, arch string) (target, error) {
	for _, t := range targets() {
		if t.os == os && t.arch == arch {
			return t, nil
		}
	}
	return target{}, fmt.Errorf("%s/%s is not in the table of targets (ci/pack/target.go)", os, arch)
}

// executable is the binary's name in a package.
func (t target) executable() string {
	if t.os == "windows" {
		return "mcp-yieldshell.exe"
	}
	return "mcp-yieldshell"
}
