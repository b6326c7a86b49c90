//go:build unix

package procunix

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// BenchmarkSpawn is the limit: a bare spawn with two pipes, read to their end.
func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		spawnBare(b)
	}
}

func spawnBare(b *testing.B) {
	cmd := exec.Command("/bin/sh", "-c", "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var buf [512]byte
	for _, r := range []interface{ Read([]byte) (int, error) }{stdout, stderr} {
		for {
			if _, err := r.Read(buf[:]); err != nil {
				break
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}

func newBench(b *testing.B) *Backend {
	backend, err := New()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { backend.Close() })
	return backend
}

// BenchmarkExecution is the same work through a supervisor that is there.
func BenchmarkExecution(b *testing.B) {
	backend := newBench(b)
	backend.Warm()
	env := os.Environ()
	for b.Loop() {
		runOnce(b, backend, env)
	}
}

// BenchmarkCold starts the supervisor, too.
func BenchmarkCold(b *testing.B) {
	env := os.Environ()
	for b.Loop() {
		backend, err := New()
		if err != nil {
			b.Fatal(err)
		}
		runOnce(b, backend, env)
		b.StopTimer()
		backend.Close()
		b.StartTimer()
	}
}

func runOnce(b *testing.B, backend *Backend, env []string) {
	p, err := backend.Start(proc.Spec{Command: "true", Dir: "/", Env: env})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- p.Stdout().CopyTo(func([]byte) {}) }()
	go func() { done <- p.Stderr().CopyTo(func([]byte) {}) }()
	for range p.Events() {
	}
	<-done
	<-done
	p.Stdin().Close()
	p.Stdout().Close()
	p.Stderr().Close()
	p.Close()
}

func BenchmarkBurst(b *testing.B) {
	backend := newBench(b)
	env := os.Environ()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			runOnce(b, backend, env)
		}
	})
}

// BenchmarkRatio takes turns between the two, which makes the ratio of the
// medians steady on a machine that is not.
func BenchmarkRatio(b *testing.B) {
	backend := newBench(b)
	env := os.Environ()
	var bare, ours []time.Duration
	for b.Loop() {
		t0 := time.Now()
		spawnBare(b)
		t1 := time.Now()
		runOnce(b, backend, env)
		bare, ours = append(bare, t1.Sub(t0)), append(ours, time.Since(t1))
	}
	slices.Sort(bare)
	slices.Sort(ours)
	m := len(bare) / 2
	b.ReportMetric(float64(bare[m].Microseconds()), "bare-µs")
	b.ReportMetric(float64(ours[m].Microseconds()), "ours-µs")
	b.ReportMetric(float64(ours[m])/float64(bare[m]), "ratio")
}
