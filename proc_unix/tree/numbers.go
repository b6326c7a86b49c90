//go:build unix

package tree

import "syscall"

// Numbers returns the names in a folder that are numbers, as folders of
// processes, threads and descriptors have. The error is that of open(2).
func Numbers(dir string) ([]int, error) {
	fd, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var ns []int
	var names []string
	var buf [4 << 10]byte
	for {
		n, err := syscall.ReadDirent(fd, buf[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || n == 0: // an error means that it has ended
			return ns, nil
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if pid, ok := number(name); ok {
				ns = append(ns, pid)
			}
		}
	}
}

func openDir(dir string) (int, error) {
	for {
		fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// number reads a text of nothing but digits.
func number(s string) (int, bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
