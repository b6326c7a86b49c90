//go:build linux

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"text/tabwriter"
	"time"
)

// figure is one line of the table. Value is a ratio to the limit, or an
// absolute value where the target is one.
type figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"` // "x" for a ratio
	Target float64 `json:"target"`
	Detail string  `json:"detail"`
	OK     bool    `json:"ok"`
}

// bench runs the measurements that were chosen and collects their figures.
type bench struct {
	server  string
	folder  string
	chosen  *regexp.Regexp
	figures []figure
}

func main() {
	server := flag.String("server", "", "measure this binary instead of building one")
	output := flag.String("json", "", "write the figures to this file too")
	only := flag.String("k", "", "only the groups whose name matches this regular expression")
	flag.Parse()
	folder, err := os.MkdirTemp("", "bench-")
	check(err)
	defer os.RemoveAll(folder)
	b := &bench{server: *server, folder: folder, chosen: regexp.MustCompile(*only)}
	if b.server == "" {
		b.server = filepath.Join(folder, "mcp-yieldshell")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.server, "./cmd/mcp-yieldshell")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		check(build.Run())
	}
	b.group("start", b.start)
	b.group("execute", b.executes)
	b.group("burst", b.burst)
	b.group("end", b.ends)
	b.group("drain", b.drains)
	b.group("spills", b.spills)
	b.group("rings", b.rings)
	b.group("pages", b.pages)
	b.group("retained", b.retained)
	b.group("live", b.live)
	b.group("quiet", b.quiet)
	b.print()
	if *output != "" {
		text, err := json.MarshalIndent(b.figures, "", "  ")
		check(err)
		check(os.WriteFile(*output, append(text, '\n'), 0o666))
	}
	for _, f := range b.figures {
		if !f.OK {
			os.Exit(1)
		}
	}
}

func (b *bench) group(name string, measure func()) {
	if b.chosen.MatchString(name) {
		fmt.Fprintf(os.Stderr, "%s ...\n", name)
		measure()
	}
}

// add records a figure. A target of zero or less means that there is none.
func (b *bench) add(name string, value float64, unit string, target float64, detail string, args ...any) {
	b.figures = append(b.figures, figure{name, value, unit, target, fmt.Sprintf(detail, args...), target <= 0 || value <= target})
}

func (b *bench) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tmeasured\ttarget\t\tin detail")
	for _, f := range b.figures {
		target, verdict := "", ""
		if f.Target > 0 {
			target, verdict = fmt.Sprintf("%.4g %s", f.Target, f.Unit), "ok"
			if !f.OK {
				verdict = "MISSED"
			}
		}
		fmt.Fprintf(w, "%s\t%.3g %s\t%s\t%s\t%s\n", f.Name, f.Value, f.Unit, target, verdict, f.Detail)
	}
	w.Flush()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

// timed returns how long one run of f takes.
func timed(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}

// interleaved runs the functions in turn, n times each, and returns the median
// of each: so what else the machine does hits all of them alike.
func interleaved(n int, fs ...func()) []time.Duration {
	times := make([][]time.Duration, len(fs))
	for range n {
		for i, f := range fs {
			times[i] = append(times[i], timed(f))
		}
	}
	medians := make([]time.Duration, len(fs))
	for i, t := range times {
		medians[i] = median(t)
	}
	return medians
}

func median(t []time.Duration) time.Duration {
	t = slices.Clone(t)
	slices.Sort(t)
	return t[len(t)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
