//go:build linux

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// spawn is the limit for execute: fork and exec, two pipes read to their ends.
func spawn(command string) {
	c := exec.Command("/bin/sh", "-c", command)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := c.StdoutPipe()
	check(err)
	stderr, err := c.StderrPipe()
	check(err)
	check(c.Start())
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(io.Discard, stderr) })
	io.Copy(io.Discard, stdout)
	wg.Wait()
	check(c.Wait())
}

// start: from the start of the process to the answer to initialize.
func (b *bench) start() {
	var limit, up []time.Duration
	for range 25 {
		limit = append(limit, timed(func() { check(exec.Command("/bin/true").Run()) }))
		var c *client
		up = append(up, timed(func() { c = startServer(b.server) }))
		c.close()
	}
	target := max(8, 5*ms(median(limit)))
	b.add("start to the answer to initialize", ms(median(up)), "ms", target, "/bin/true %.2f ms", ms(median(limit)))
}

// executes: a short command, against a bare spawn.
func (b *bench) executes() {
	c := startServer(b.server)
	defer c.close()
	for range 20 {
		c.execute("true")
	}
	t := interleaved(400, func() { spawn("true") }, c.ping, func() { c.execute("true") })
	b.add("execute of true, less a ping, over a bare spawn", ratio(t[2]-t[1], t[0]), "x", 1.4,
		"%.2f ms, ping %.3f ms, spawn %.2f ms", ms(t[2]), ms(t[1]), ms(t[0]))
}

// burst: many at once, against as many in a row.
func (b *bench) burst() {
	const n = 200
	c := startServer(b.server, "YIELDSHELL_MAX_PROCESSES=1000")
	defer c.close()
	c.execute("true")
	t := interleaved(7,
		func() {
			for range n {
				spawn("true")
			}
		},
		func() {
			var pending []chan []byte
			for range n {
				pending = append(pending, c.startExecute("true"))
			}
			for _, ch := range pending {
				c.wait(ch)
			}
		})
	b.add("200 executes at once over 200 bare spawns in a row", ratio(t[1], t[0]), "x", 2.0, "%.0f ms, spawns %.0f ms", ms(t[1]), ms(t[0]))
}

// ends: how fast the end of a command is noticed, and how fast stop ends it.
func (b *bench) ends() {
	c := startServer(b.server)
	defer c.close()
	bare := func() time.Duration {
		p := exec.Command("/bin/sleep", "100")
		check(p.Start())
		return timed(func() {
			p.Process.Kill()
			p.Wait()
		})
	}
	var notice, stop, limit, ping []time.Duration
	for range 60 {
		ping = append(ping, timed(c.ping))
		limit = append(limit, bare())
		r := c.execute("exec sleep 100", "yield_ms", 0)
		pending := c.start("wait", map[string]any{"execution_id": r.ExecutionID})
		c.ping() // the wait has been taken
		time.Sleep(3 * time.Millisecond)
		notice = append(notice, timed(func() {
			check(syscall.Kill(r.ProcessID, syscall.SIGKILL))
			c.wait(pending)
		}))
		r = c.execute("exec sleep 100", "yield_ms", 0)
		stop = append(stop, timed(func() { c.call("stop", map[string]any{"execution_id": r.ExecutionID}) }))
	}
	b.add("end of a command to the answer of a wait, less a ping", ms(median(notice)-median(ping)), "ms", 0.5,
		"a parent that waits hears of it after %.2f ms", ms(median(limit)))
	b.add("stop of a sleep", ms(median(stop)), "ms", 3, "kill and wait %.2f ms", ms(median(limit)))
}

// bufferSize is what an execution keeps of a long output by default, in MB.
const bufferSize = 0.25

// drains: throughput, against cat >/dev/null.
func (b *bench) drains() {
	noise := filepath.Join(b.folder, "noise")
	writeNoise(noise)
	var secrets []string
	for i := range 20 {
		secrets = append(secrets, fmt.Sprintf("BENCH_SECRET_%d=%s", i, strings.Repeat(string(rune('a'+i)), 3)+fmt.Sprintf("k%021dz", i)))
	}
	secrets = append(secrets, "YIELDSHELL_REDACT_ENV_REGEX=^BENCH_SECRET_")
	for _, m := range []struct {
		name, command string
		env           []string
		until         string
		target        float64
	}{
		{"draining 512 MB of x over cat >/dev/null", `head -c 536870912 /dev/zero | tr '\0' x`, nil, "", 1.05},
		{"draining seq 1 2000000 over cat >/dev/null", "seq 1 2000000", nil, "", 1.10},
		{"the first with 20 secrets redacted", `head -c 536870912 /dev/zero | tr '\0' x`, secrets, "", 1.5},
		{"the second with 20 secrets redacted", "seq 1 2000000", secrets, "", 1.5},
		{"the second until a line that does not come", "seq 1 2000000", nil, `(?i)\berror: \w+`, 0},
		{"one random byte above 0x7f in ten", "cat " + noise, nil, "", 1.5},
	} {
		c := startServer(b.server, m.env...)
		const rounds = 25
		t := interleaved(rounds,
			func() { spawn(m.command + " | cat >/dev/null") },
			func() {
				if r := c.execute(m.command, "yield_ms", 55000, "yield_until_output", m.until); r.Status != "completed" {
					check(fmt.Errorf("%s: status %s", m.command, r.Status))
				}
			})
		peak := memory(c.pid(), "VmHWM")
		c.close()
		b.add(m.name, ratio(t[1], t[0]), "x", m.target, "%.0f ms, cat %.0f ms", ms(t[1]), ms(t[0]))
		b.add("  server memory at its peak, beyond the buffers", peak-rounds*bufferSize, "MB", 25, "of %d executions", rounds)
	}
}

// spills: what it costs to keep on disk what leaves memory.
func (b *bench) spills() {
	without := startServer(b.server)
	defer without.close()
	with := startServer(b.server, "YIELDSHELL_SPILL_DIR="+filepath.Join(b.folder, "kept"))
	defer with.close()
	for _, m := range []struct{ name, command string }{
		{"draining 512 MB of x with a folder for it over without", `head -c 536870912 /dev/zero | tr '\0' x`},
		{"draining seq 1 2000000, likewise", "seq 1 2000000"},
	} {
		run := func(c *client) func() {
			return func() { c.execute(m.command, "yield_ms", 55000) }
		}
		t := interleaved(15, run(without), run(with))
		b.add(m.name, ratio(t[1], t[0]), "x", 1.3, "%.0f ms, %.0f ms", ms(t[1]), ms(t[0]))
	}
}

// rings: what a larger ring costs while it fills and when it is full.
func (b *bench) rings() {
	run := func(c *client) func() {
		return func() { c.execute("seq 1 4000000", "yield_ms", 55000) }
	}
	small := startServer(b.server)
	defer small.close()
	large := startServer(b.server, "YIELDSHELL_MAX_BUFFER_BYTES="+strconv.Itoa(16<<20), "YIELDSHELL_MAX_RETAINED_PROCESSES=1")
	defer large.close()
	t := interleaved(9, run(small), run(large))
	b.add("draining into a ring of 16 MB over one of 256 kB", ratio(t[1], t[0]), "x", 0, "%.0f ms, %.0f ms", ms(t[1]), ms(t[0]))
}

// writeNoise writes text in which one byte in ten is a random one above 0x7f.
func writeNoise(path string) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 128<<20)
	for i := range data {
		data[i] = 'a' + byte(i%26)
		if r.IntN(10) == 0 {
			data[i] = 0x80 + byte(r.IntN(0x80))
		}
	}
	check(os.WriteFile(path, data, 0o600))
}

// pages: reading from a full buffer, of two sizes.
func (b *bench) pages() {
	for _, size := range []int{256 << 10, 16 << 20} {
		c := startServer(b.server, "YIELDSHELL_MAX_BUFFER_BYTES="+strconv.Itoa(size))
		r := c.execute("seq 1 4000000", "yield_ms", 55000)
		args := map[string]any{"execution_id": r.ExecutionID, "since_seq": r.LatestSeq - uint64(size)/2}
		tail := map[string]any{"execution_id": r.ExecutionID, "tail_lines": 200}
		t := interleaved(300, c.ping, func() { <-c.start("read", args) }, func() { <-c.start("read", tail) })
		c.close()
		b.add(fmt.Sprintf("read of a 20 kB page, ring of %d kB, less a ping", size>>10), ms(t[1]-t[0]), "ms", 0.3, "")
		b.add(fmt.Sprintf("tail_lines 200, ring of %d kB, less a ping", size>>10), ms(t[2]-t[0]), "ms", 0.3, "")
	}
}

// retained: what ended records cost.
func (b *bench) retained() {
	c := startServer(b.server, "YIELDSHELL_MAX_RETAINED_PROCESSES=1000")
	defer c.close()
	for count := 0; count < 1000; {
		r := c.execute("seq 1 100")
		count++
		if count != 1 && count != 100 && count != 1000 {
			continue
		}
		t := interleaved(200, c.ping,
			func() { <-c.start("ps", map[string]any{"limit": 1000}) },
			func() { <-c.start("read", map[string]any{"execution_id": r.ExecutionID, "since_seq": 1}) })
		target := 0.0
		if count == 1000 {
			target = 3
		}
		b.add(fmt.Sprintf("ps with %d retained records", count), ms(t[1]), "ms", target, "")
		b.add(fmt.Sprintf("read with %d retained records, less a ping", count), ms(t[2]-t[0]), "ms", 0.3, "")
	}
}

// live: what running executions cost, against a server that has none.
func (b *bench) live() {
	busy := startServer(b.server, "YIELDSHELL_MAX_PROCESSES=2000")
	defer busy.close()
	free := startServer(b.server)
	defer free.close()
	for range 20 {
		free.execute("true")
		busy.execute("true")
	}
	started := 0
	for _, n := range []int{1, 100, 1000} {
		for ; started < n; started++ {
			busy.execute("exec sleep 1000", "yield_ms", 0)
		}
		target := 0.0
		if n == 1000 {
			target = 1.3
		}
		t := interleaved(200, free.ping, func() { free.execute("true") }, busy.ping, func() { busy.execute("true") })
		b.add(fmt.Sprintf("execute with %d executions live over the same with none", n), ratio(t[3]-t[2], t[1]-t[0]), "x", target,
			"%.2f ms, %.2f ms", ms(t[3]), ms(t[1]))
	}
}

// quiet: what executions cost that do nothing.
func (b *bench) quiet() {
	const n = 50
	c := startServer(b.server)
	defer c.close()
	c.execute("true")
	before := pss(append(c.supervisors(), c.pid()))
	var ids []string
	for range n {
		ids = append(ids, c.execute("exec sleep 1000", "yield_ms", 0).ExecutionID)
	}
	for _, id := range ids[:5] {
		c.start("wait", map[string]any{"execution_id": id})
	}
	time.Sleep(3 * time.Second) // the pool lets go of what it does not need
	ours := append(c.supervisors(), c.pid())
	b.add("memory (PSS) for each live execution", (pss(ours)-before)/n, "MB", 0.8, "")
	ticks := cpuTicks(ours)
	time.Sleep(10 * time.Second)
	used := cpuTicks(ours) - ticks
	b.add("CPU ticks in 10 s with 50 quiet executions and 5 waits", float64(used), "ticks", 0.5, "of %d processes", len(ours))
}

// memory reads a field of /proc/PID/status, in MB.
func memory(pid int, field string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(err)
	m := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(text)
	kb, err := strconv.Atoi(string(m[1]))
	check(err)
	return float64(kb) / 1024
}

// pss adds up the proportional set sizes, in MB.
func pss(pids []int) float64 {
	total := 0
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue
		}
		m := regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB`).FindSubmatch(text)
		kb, err := strconv.Atoi(string(m[1]))
		check(err)
		total += kb
	}
	return float64(total) / 1024
}

// cpuTicks adds up user and system time, in clock ticks.
func cpuTicks(pids []int) int {
	total := 0
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, s := range f[11:13] {
			n, err := strconv.Atoi(s)
			check(err)
			total += n
		}
	}
	return total
}
