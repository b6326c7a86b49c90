package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever comes before it, a good line is answered, and nothing but JSON-RPC
// is written.
func FuzzFraming(f *testing.F) {
	for _, test := range hostile {
		if len(test.line) < 1<<12 {
			f.Add([]byte(test.line))
		}
	}
	for _, test := range ignored {
		f.Add([]byte(test.line))
	}
	for _, test := range accepted {
		f.Add([]byte(test.line))
	}
	for _, version := range []string{"2025-03-26", "2025-11-25"} {
		f.Add([]byte(initLine(version) + callLine("1", "echo", `{"a":"\ud800"}`)))
		f.Add([]byte(initLine(version) + "[" + callText("1", "echo", `{}`) + "," + callText("1", "panic", `{}`) + ",1]"))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	const maxLine = 1 << 10
	f.Add([]byte(strings.Repeat("x", maxLine+1)))
	f.Add([]byte(`{"id":3,"a":"` + strings.Repeat("x", maxLine)))
	const ping = `"fuzz-ping"`
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("fuzz")) || bytes.Contains(data, []byte("hold")) || len(data) > 1<<16 {
			t.Skip("it may use the id of the ping, or a tool that does not return")
		}
		input := append(bytes.Clone(data), "\n"+`{"jsonrpc":"2.0","id":`+ping+`,"method":"ping"}`+"\n"...)
		var out bytes.Buffer
		server := newTestServer()
		server.AddReceivingMiddleware(Recover(nil, nil))
		tr := New(bytes.NewReader(input), &out, Options{MaxLine: maxLine, DrainTimeout: bound, FinalTimeout: time.Nanosecond})
		began := time.Now()
		if err := server.Run(context.Background(), tr); err != nil {
			t.Fatalf("Run returned %v", err)
		}
		if time.Since(began) >= bound {
			t.Error("a call was never answered")
		}
		answered := false
		for line := range strings.Lines(out.String()) {
			if err := validLine(line); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			answered = answered || strings.Contains(line, ping)
		}
		if !answered {
			t.Errorf("the ping was not answered in %q", out.String())
		}
	})
}

// validLine checks one line of output, which may be an array of answers.
func validLine(line string) error {
	if !strings.HasSuffix(line, "\n") || !utf8.ValidString(line) || loneSurrogate(line) {
		return fmt.Errorf("not a line of valid text")
	}
	if line[0] != '[' {
		return validAnswer([]byte(line))
	}
	var batch []json.RawMessage
	if err := json.Unmarshal([]byte(line), &batch); err != nil {
		return err
	}
	if len(batch) == 0 {
		return fmt.Errorf("an empty batch")
	}
	for _, a := range batch {
		if err := validAnswer(a); err != nil {
			return err
		}
	}
	return nil
}

// The scanner takes what encoding/json takes, and makes of it the same value
// with the same members.
func FuzzScan(f *testing.F) {
	for _, test := range hostile {
		if len(test.line) < 1<<12 {
			f.Add([]byte(test.line))
		}
	}
	for _, test := range accepted {
		f.Add([]byte(test.line))
	}
	for _, text := range []string{
		`-0`, `-`, `1.`, `1.5e+3`, `1e`, `0x1`, `00`, `[[],{},[{"a":[]}]]`, `{"a":{"b":[1,2,{"c":null}]},"id":[]}`,
		`"\ud83d\ude00\ud83d\u12"`, `{"id":1,"id":2}`, `[1,,2]`, `{"a" 1}`, `{"a":1 "b":2}`, "\"\x1f\"", "\"\x7f\"", `{"":0}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = validUTF8(data)
		original := bytes.Clone(data)
		var s scanner
		s.reset(data)
		s.space()
		var env envelope
		var err error
		object := s.peek() == '{'
		if object {
			err = s.object(&env)
		} else {
			err = s.skip()
		}
		if err == nil {
			err = s.end()
		}
		if err == errTooDeep {
			return
		}
		if valid := json.Valid(original); valid != (err == nil) {
			t.Fatalf("json.Valid is %v, the scanner says %v", valid, err)
		}
		if err != nil {
			return
		}
		if loneSurrogate(string(data)) {
			t.Errorf("a lone surrogate is left in %q", data)
		}
		if got, want := canonical(t, data), canonical(t, original); got != want {
			t.Errorf("the value became %s, was %s", got, want)
		}
		if !object {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"jsonrpc", "id", "method", "params", "result", "error"} {
			if got, want := string(*env.field([]byte(name))), string(members[name]); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
}

// canonical decodes and encodes a JSON text, keeping numbers as they are.
func canonical(t *testing.T, text []byte) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
