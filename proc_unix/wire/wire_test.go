package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	req := StartRequest{
		Path: "/bin/sh", Dir: "/tmp",
		Argv: []string{"sh", "-c", string(bytes.Repeat([]byte("x"), 100<<10))},
		Env:  []string{"A=1", "EMPTY="},
	}
	rep := Report{ShellExited: true, SessionEmpty: true, Code: 255, Signal: 0, Detached: []int{1, 300, 1 << 30}}
	sig := Signaled{Reached: 3, OnlyDefault: true, Denied: []int{7}}
	lst := Listed{Attached: []int{1}, Detached: []int{2, 3}}
	var stream []byte
	frames := []struct {
		kind    Kind
		payload interface {
			Append([]byte) []byte
			Parse([]byte) error
		}
	}{
		{KindStart, &req}, {KindReport, &rep}, {KindSignaled, &sig}, {KindListed, &lst}, {KindStart, &req},
	}
	for i, f := range frames {
		stream = append(stream, End(f.payload.Append(Begin(nil, f.kind, uint32(i))))...)
	}
	for name, r := range map[string]io.Reader{
		"whole":   bytes.NewReader(stream),
		"by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":  iotest.HalfReader(bytes.NewReader(stream)),
	} {
		fr := NewReader(r.Read)
		for i, want := range frames {
			f, err := fr.Next()
			if err != nil || f.Kind != want.kind || f.Seq != uint32(i) {
				t.Fatalf("%s: frame %d is %d %d, %v", name, i, f.Kind, f.Seq, err)
			}
			got := reflect.New(reflect.TypeOf(want.payload).Elem()).Interface().(interface{ Parse([]byte) error })
			if err := got.Parse(f.Payload); err != nil || !reflect.DeepEqual(got, want.payload) {
				t.Errorf("%s: frame %d: %+v, %v", name, i, got, err)
			}
		}
		if _, err := fr.Next(); err != io.EOF {
			t.Errorf("%s: %v at the end", name, err)
		}
		if len(fr.buf) > 128<<10 {
			t.Errorf("%s: the reader holds %d bytes", name, len(fr.buf))
		}
	}
	fr := NewReader(bytes.NewReader(stream[:len(stream)-1]).Read)
	var err error
	for err == nil {
		_, err = fr.Next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v for a frame that is cut", err)
	}
}

// FuzzFrames: nothing that arrives makes the reader or the decoders fail in
// any other way than by an error, and what they accept they also write.
func FuzzFrames(f *testing.F) {
	rep := Report{SessionEmpty: true, Detached: []int{5}}
	f.Add(End(rep.Append(Begin(nil, KindReport, 1))))
	f.Add([]byte{0, 0, 0, 5, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		fr := NewReader(bytes.NewReader(data).Read)
		for {
			fm, err := fr.Next()
			if err != nil {
				return
			}
			var r Report
			if err := r.Parse(fm.Payload); err == nil {
				var again Report
				if err := again.Parse(r.Append(nil)); err != nil || !reflect.DeepEqual(r, again) {
					t.Errorf("%+v became %+v, %v", r, again, err)
				}
			}
			var req StartRequest
			if err := req.Parse(fm.Payload); err == nil {
				var again StartRequest
				if err := again.Parse(req.Append(nil)); err != nil || !reflect.DeepEqual(req, again) {
					t.Errorf("%+v became %+v, %v", req, again, err)
				}
			}
			_ = new(Signaled).Parse(fm.Payload)
			_ = new(Listed).Parse(fm.Payload)
		}
	})
}
