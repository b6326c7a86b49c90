//go:build unix

package procunix

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	req := startRequest{
		path: "/bin/sh", dir: "/tmp",
		argv: []string{"sh", "-c", string(bytes.Repeat([]byte("x"), 100<<10))},
		env:  []string{"A=1", "EMPTY="},
	}
	rep := report{shellExited: true, sessionEmpty: true, code: 255, signal: 0, detached: []int{1, 300, 1 << 30}}
	sig := signaled{reached: 3, onlyDefault: true, denied: []int{7}}
	lst := listed{attached: []int{1}, detached: []int{2, 3}}
	var stream []byte
	frames := []struct {
		kind    kind
		payload interface {
			append([]byte) []byte
			parse([]byte) error
		}
	}{
		{kindStart, &req}, {kindReport, &rep}, {kindSignaled, &sig}, {kindListed, &lst}, {kindStart, &req},
	}
	for i, f := range frames {
		stream = append(stream, endFrame(f.payload.append(beginFrame(nil, f.kind, uint32(i))))...)
	}
	for name, r := range map[string]io.Reader{
		"whole":   bytes.NewReader(stream),
		"by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":  iotest.HalfReader(bytes.NewReader(stream)),
	} {
		fr := frameReader{read: r.Read}
		for i, want := range frames {
			f, err := fr.next()
			if err != nil || f.kind != want.kind || f.seq != uint32(i) {
				t.Fatalf("%s: frame %d is %d %d, %v", name, i, f.kind, f.seq, err)
			}
			got := reflect.New(reflect.TypeOf(want.payload).Elem()).Interface().(interface{ parse([]byte) error })
			if err := got.parse(f.payload); err != nil || !reflect.DeepEqual(got, want.payload) {
				t.Errorf("%s: frame %d: %+v, %v", name, i, got, err)
			}
		}
		if _, err := fr.next(); err != io.EOF {
			t.Errorf("%s: %v at the end", name, err)
		}
		if len(fr.buf) > 128<<10 {
			t.Errorf("%s: the reader holds %d bytes", name, len(fr.buf))
		}
	}
	fr := frameReader{read: bytes.NewReader(stream[:len(stream)-1]).Read}
	var err error
	for err == nil {
		_, err = fr.next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v for a frame that is cut", err)
	}
}

// FuzzFrames: nothing that arrives makes the reader or the decoders fail in
// any other way than by an error, and what they accept they also write.
func FuzzFrames(f *testing.F) {
	rep := report{sessionEmpty: true, detached: []int{5}}
	f.Add(endFrame(rep.append(beginFrame(nil, kindReport, 1))))
	f.Add([]byte{0, 0, 0, 5, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		fr := frameReader{read: bytes.NewReader(data).Read}
		for {
			fm, err := fr.next()
			if err != nil {
				return
			}
			var r report
			if err := r.parse(fm.payload); err == nil {
				var again report
				if err := again.parse(r.append(nil)); err != nil || !reflect.DeepEqual(r, again) {
					t.Errorf("%+v became %+v, %v", r, again, err)
				}
			}
			var req startRequest
			if err := req.parse(fm.payload); err == nil {
				var again startRequest
				if err := again.parse(req.append(nil)); err != nil || !reflect.DeepEqual(req, again) {
					t.Errorf("%+v became %+v, %v", req, again, err)
				}
			}
			_ = new(signaled).parse(fm.payload)
			_ = new(listed).parse(fm.payload)
		}
	})
}
