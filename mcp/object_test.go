package mcp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// TestRender compares what answers write with what encoding/json makes of
// their tags.
func TestRender(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, empty := range []answer{
		&executeAnswer{}, &readAnswer{}, &waitAnswer{}, &writeAnswer{}, &stopAnswer{}, &psAnswer{}, &oneRow{}, &searchAnswer{Matches: []finding{}}, &cleanupAnswer{}, &refusal{},
	} {
		kind := reflect.TypeOf(empty).Elem()
		t.Run(kind.Name(), func(t *testing.T) {
			compareRendered(t, empty)
			for range 300 {
				v := reflect.New(kind)
				fill(r, v.Elem())
				compareRendered(t, v.Interface().(answer))
			}
		})
	}
}

// oneRow is an answer of one row of ps.
type oneRow struct {
	psRow
	warned
}

func (r *oneRow) failed() bool { return false }

func (r *oneRow) write(o *object) {
	r.psRow.write(o)
	r.warned.write(o)
}

func TestRenderRows(t *testing.T) {
	ended := execution.Summary{
		ID: "00000001", PID: 7, Command: "exit 3", Dir: "/", Status: execution.Failed, Exit: &proc.Exit{Code: 3},
		Started: time.Unix(1, 0), Ended: time.Unix(3, 0), Duration: 2 * time.Second, LastOutput: time.Unix(2, 0),
		Lost: errors.New("gone"), Detached: []proc.Member{{PID: 8, Name: "child"}},
	}
	running := execution.Summary{ID: "00000002", Command: "sleep 9", Status: execution.Running, Started: time.Unix(2, 0)}
	for _, list := range [][]execution.Summary{nil, {ended}, {running, ended}, slices.Repeat([]execution.Summary{running, ended}, longList)} {
		compareRendered(t, &psAnswer{Executions: psRows{list, time.Unix(4, 0)}})
	}
}

func compareRendered(t *testing.T, a answer) {
	t.Helper()
	got, want := render(a), string(must(encode(a)))
	if got != want {
		t.Fatalf("\n got %s\nwant %s", got, want)
	}
}

// fill gives a value random contents, and leaves much of it empty.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[psRows](): // oneRow has the row
		return
	case reflect.TypeFor[timestamp]():
		v.Set(reflect.ValueOf(timestamp(time.UnixMicro(r.Int64N(4e15)))))
		return
	case reflect.TypeFor[handle]():
		v.Set(reflect.ValueOf(handle{strconv.Itoa(r.Int()), r.IntN(2) == 0}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.String:
		v.SetString([]string{"", "plain", "a\n\"<b>\"\\", "é\xff\u2028"}[r.IntN(4)])
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	default:
		panic("no contents for " + v.Type().String())
	}
}

// TestDecimal compares with the floating-point numbers that the decimals stand
// for.
func TestDecimal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int64{0, 1, 9, 10, 11, 99, 100, 999999, 1000000, 1000001, -1, -10, -1000001} {
		compareDecimal(t, n)
	}
	for range 10000 {
		compareDecimal(t, r.Int64N(int64(1)<<(1+r.IntN(52))))
	}
}

func compareDecimal(t *testing.T, n int64) {
	t.Helper()
	for places, power := range []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6} {
		got := string(appendDecimal(nil, n, places))
		if want := strconv.FormatFloat(float64(n)/power, 'f', -1, 64); got != want {
			t.Fatalf("%d with %d places: %s, want %s", n, places, got, want)
		}
	}
}

func BenchmarkRenderPs(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]execution.Summary, 1000)
	for i := range list {
		list[i] = execution.Summary{
			ID: fmt.Sprintf("%08x", r.Uint32()), PID: 1000 + i, Command: "seq 1 100", Dir: "/home/someone/project",
			Status: execution.Completed, Exit: &proc.Exit{}, Started: time.UnixMicro(r.Int64N(4e15)), Ended: time.UnixMicro(r.Int64N(4e15)),
			Duration: time.Duration(r.Int64N(1e9)), Stdout: 292, LastOutput: time.UnixMicro(r.Int64N(4e15)), LatestSeq: 293,
		}
	}
	a := &psAnswer{Executions: psRows{list, time.Now()}}
	b.ReportAllocs()
	for b.Loop() {
		render(a)
	}
}
