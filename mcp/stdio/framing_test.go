package stdio

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile lists lines that are not messages, and their answers.
var hostile = []struct {
	name, line string
	code       int
	id         string // of the answer
	says       string // part of the answer's text
}{
	{"broken JSON", `{"jsonrpc":"2.0","id":1,`, -32700, `null`, "the line ends"},
	{"an open brace", `{`, -32700, `null`, "the line ends"},
	{"plain text", `hello world`, -32700, `null`, "unexpected 'h' in place of a value at byte 0"},
	{"almost null", `nul`, -32700, `null`, "null"},
	{"single quotes", `{'jsonrpc':'2.0'}`, -32700, `null`, "double quotes"},
	{"a trailing comma", `{"jsonrpc":"2.0","id":1,"method":"ping",}`, -32700, `null`, "key"},
	{"a control character", "{\"jsonrpc\":\"2.0\",\"id\":\"a\tb\",\"method\":\"ping\"}", -32700, `null`, "string"},
	{"a NUL", "\x00", -32700, `null`, "value"},
	{"a bad escape", `{"jsonrpc":"2.0","id":"\x","method":"ping"}`, -32700, `null`, "escape"},
	{"a short escape", `{"jsonrpc":"2.0","id":"\u12","method":"ping"}`, -32700, `null`, "hexadecimal"},
	{"an open string", `{"jsonrpc":"2.0","id":"`, -32700, `null`, "string"},
	{"a bad number", `{"jsonrpc":"2.0","id":01,"method":"ping"}`, -32700, `null`, "unexpected '1'"},
	{"HTTP", "GET / HTTP/1.1\r", -32700, `null`, "'G'"},
	{"LSP framing", "Content-Length: 52\r", -32700, `null`, "'C'"},
	{"UTF-16", "\xff\xfe{\x00\"\x00", -32700, `null`, "value"},
	{"two objects", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, -32700, `null`, "one message to a line"},
	{"two objects and a space", `{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`, -32700, `null`, "one message to a line"},
	{"a number", `42`, -32600, `null`, "object"},
	{"a string", `"ping"`, -32600, `null`, "object"},
	{"null", `null`, -32600, `null`, "object"},
	{"true", `true`, -32600, `null`, "object"},
	{"an empty object", `{}`, -32600, `null`, `"jsonrpc" is missing`},
	{"an empty batch", `[]`, -32600, `null`, "empty"},
	{"an empty batch with space", `[ ]`, -32600, `null`, "empty"},
	{"an open batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700, `null`, "the line ends"},
	{"a batch with a trailing comma", `[1,]`, -32700, `null`, "value"},
	{"a batch and more", `[1]2`, -32700, `null`, "one message"},
	{"no version", `{"id":7,"method":"ping"}`, -32600, `7`, `"jsonrpc" is missing`},
	{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600, `7`, `"jsonrpc" must be "2.0"`},
	{"version as a number", `{"jsonrpc":2.0,"id":"x","method":"ping"}`, -32600, `"x"`, `"jsonrpc" must be "2.0"`},
	{"version null", `{"jsonrpc":null,"id":"x","method":"ping"}`, -32600, `"x"`, `"jsonrpc" must be "2.0"`},
	{"no method", `{"jsonrpc":"2.0","id":7}`, -32600, `7`, `"method" is missing`},
	{"nothing but the version", `{"jsonrpc":"2.0"}`, -32600, `null`, `"method" is missing`},
	{"method as a number", `{"jsonrpc":"2.0","id":7,"method":1}`, -32600, `7`, `"method" must be a string`},
	{"method null", `{"jsonrpc":"2.0","id":7,"method":null}`, -32600, `7`, `"method" must be a string`},
	{"an object as id", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600, `null`, `"id" must be`},
	{"a list as id", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600, `null`, `"id" must be`},
	{"a boolean as id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, `null`, `"id" must be`},
	{"null as id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, `null`, `"id" must be`},
	{"a fraction as id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, `null`, `"id" must be`},
	{"a huge exponent as id", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, -32600, `null`, `"id" must be`},
	{"ID in upper case", `{"jsonrpc":"2.0","ID":7}`, -32600, `null`, `"ID" should be "id"`},
	{"Method in title case", `{"jsonrpc":"2.0","id":7,"Method":"ping"}`, -32600, `7`, `"Method" should be "method"`},
	{"JSONRPC in upper case", `{"JSONRPC":"2.0","id":7,"method":"ping"}`, -32600, `7`, `"JSONRPC" should be "jsonrpc"`},
	{"deep params", `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + nest(maxDepth+1) + `}`, -32600, `7`, "nested deeper"},
	{"deep beyond the stack", nest(1 << 20), -32600, `null`, "nested deeper"},
	{"deep and open", strings.Repeat("[", 1<<20), -32600, `null`, "nested deeper"},
	{"a deep key", strings.Repeat(`{"a":`, 1<<16), -32600, `null`, "nested deeper"},
	{"a result without an id", `{"jsonrpc":"2.0","result":{}}`, -32600, `null`, `"id" is missing`},
	{"a response of another version", `{"jsonrpc":"1.0","id":7,"result":{}}`, -32600, `null`, `"jsonrpc" must be`},
	{"a long line", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + strings.Repeat("x", testMaxLine) + `"}}`, -32600, `7`, "longer than"},
	{"a long line, id last", `{"params":{"a":"` + strings.Repeat("x", testMaxLine) + `"},"id":7}`, -32600, `null`, "longer than"},
	{"long garbage", strings.Repeat("x", testMaxLine+1), -32600, `null`, "longer than"},
}

const testMaxLine = 3 << 20

// nest returns a list nested n deep around a number.
func nest(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }

// ignored lists lines that have no answer.
var ignored = []struct{ name, line string }{
	{"empty", ""},
	{"blank", " \t "},
	{"a carriage return", "\r"},
	{"a byte order mark", "\xEF\xBB\xBF"},
	{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/whatever","params":{"a":1}}`},
	{"a notification that names a request", `{"jsonrpc":"2.0","method":"ping"}`},
	{"a notification with id null", `{"jsonrpc":"2.0","id":null,"method":"notifications/whatever"}`},
	{"an unsolicited result", `{"jsonrpc":"2.0","id":99,"result":{}}`},
	{"an unsolicited error", `{"jsonrpc":"2.0","id":99,"error":{"code":-1,"message":"x"}}`},
	{"an error that is no object", `{"jsonrpc":"2.0","id":99,"error":"x"}`},
	{"an error without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`},
	{"a cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`},
	{"a cancellation of an object", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`},
	{"a cancellation without params", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`},
	{"a cancellation with list params", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`},
}

// accepted lists lines that are good, and the id that their answer has.
var accepted = []struct{ name, line, id string }{
	{"CRLF", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r", `1`},
	{"white space around", " \t" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + " \t ", `1`},
	{"white space within", ` { "jsonrpc" : "2.0" , "id" : 1 , "method" : "ping" , "params" : { } } `, `1`},
	{"a byte order mark", "\xEF\xBB\xBF" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `1`},
	{"unknown keys", `{"x":[{"y":[]},{}],"jsonrpc":"2.0","id":1,"method":"ping"}`, `1`},
	{"escaped keys", `{"\u006asonrpc":"2\u002e0","\u0069d":1,"m\u0065thod":"p\u0069ng"}`, `1`},
	{"a repeated key", `{"jsonrpc":"2.0","id":5,"id":1,"method":"ping"}`, `1`},
	{"method with a result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, `1`},
	{"id 0", `{"jsonrpc":"2.0","id":0,"method":"ping"}`, `0`},
	{"a negative id", `{"jsonrpc":"2.0","id":-3,"method":"ping"}`, `-3`},
	{"an integer written as a fraction", `{"jsonrpc":"2.0","id":3.0,"method":"ping"}`, `3`},
	{"a large id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `9007199254740993`},
	{"a 64-bit id", `{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}`, `18446744073709551615`},
	{"a larger id", `{"jsonrpc":"2.0","id":-123456789012345678901234567890,"method":"ping"}`, `-123456789012345678901234567890`},
	{"an empty id", `{"jsonrpc":"2.0","id":"","method":"ping"}`, `""`},
	{"an id that looks like ours", `{"jsonrpc":"2.0","id":"\u0000#12","method":"ping"}`, `"\u0000#12"`},
	{"an id with a lone surrogate", `{"jsonrpc":"2.0","id":"a\ud800","method":"ping"}`, `"a` + "\uFFFD" + `"`},
	{"an id with invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"a\xff\",\"method\":\"ping\"}", `"a` + "\uFFFD" + `"`},
	{"a deep unknown key", `{"x":` + nest(maxDepth) + `,"jsonrpc":"2.0","id":1,"method":"ping"}`, `1`},
}

func TestHostileLines(t *testing.T) {
	for _, version := range []string{"2025-03-26", "2025-11-25"} {
		s := start(t, Options{MaxLine: testMaxLine})
		s.initialize(version)
		for _, test := range hostile {
			t.Run(version+"/"+test.name, func(t *testing.T) {
				s.t = t
				s.send(test.line + "\n")
				a := s.recv()
				if a.code() != test.code || string(a.ID) != test.id {
					t.Errorf("got %s, want code %d, id %s", a.raw, test.code, test.id)
				}
				if a.Error != nil && !strings.Contains(a.Error.Message, test.says) {
					t.Errorf("the error is %q, want it to say %q", a.Error.Message, test.says)
				}
				s.ping()
			})
		}
	}
}

func TestIgnoredLines(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	for _, test := range ignored {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			s.send(test.line + "\n")
			s.ping()
		})
	}
}

func TestAcceptedLines(t *testing.T) {
	s := start(t, Options{})
	for _, test := range accepted {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			s.send(test.line + "\n")
			a := s.recv()
			var got, want any
			if err := json.Unmarshal([]byte(test.id), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(a.ID, &got); err != nil {
				t.Fatal(err)
			}
			if a.Error != nil || got != want || a.ID[0] != '"' && string(a.ID) != test.id {
				t.Errorf("got %s, want id %s", a.raw, test.id)
			}
			s.ping()
		})
	}
}

func TestMethodsAndParams(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	for _, test := range []struct {
		name, rest string
		code       int
	}{
		{"unknown method", `"method":"no/such"`, -32601},
		{"empty method", `"method":""`, -32601},
		{"unknown tool", `"method":"tools/call","params":{"name":"nope"}`, -32602},
		{"params null", `"method":"tools/call","params":null`, -32600},
		{"params a list", `"method":"tools/call","params":[1]`, -32602},
		{"params a string", `"method":"tools/call","params":"x"`, -32602},
		{"panic", `"method":"tools/call","params":{"name":"panic"}`, -32603},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			s.send(`{"jsonrpc":"2.0","id":1,` + test.rest + "}\n")
			if a := s.recv(); a.code() != test.code || string(a.ID) != "1" {
				t.Errorf("got %s, want code %d", a.raw, test.code)
			}
			s.ping()
		})
	}
}

// Handlers that pass arguments on as they came must not pass on what breaks a
// client.
func TestTextIsMadeValid(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	for _, test := range []struct{ name, in, want string }{
		{"high surrogate", `\ud83d`, "\uFFFD"},
		{"low surrogate", `x\uDE00y`, "x\uFFFDy"},
		{"two high surrogates", `\ud83d\ud83d`, "\uFFFD\uFFFD"},
		{"swapped surrogates", `\ude00\ud83d`, "\uFFFD\uFFFD"},
		{"high surrogate, other escape", `\ud83d\n`, "\uFFFD\n"},
		{"high surrogate, plain letter", `\ud83du`, "\uFFFDu"},
		{"high surrogate, other character", `\ud83d\u0041`, "\uFFFDA"},
		{"a pair", `\ud83d\ude00`, "😀"},
		{"an escaped backslash", `\\ud83d`, `\ud83d`},
		{"invalid bytes", "a\xff\xfeb\xc3", "a\uFFFD\uFFFDb\uFFFD"},
		{"an encoded surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"NUL", `\u0000`, "\x00"},
		{"line separators", "\u2028\u2029\u0085", "\u2028\u2029\u0085"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			s.send(callLine("1", "echo", `{"text":"`+test.in+`"}`))
			line := s.line()
			if lone := loneSurrogate(line); lone || !utf8.ValidString(line) {
				t.Errorf("the answer holds invalid text: %q", line)
			}
			var res struct {
				StructuredContent struct{ Text string }
			}
			if err := json.Unmarshal(parseAnswer(t, line).Result, &res); err != nil {
				t.Fatal(err)
			}
			if got := res.StructuredContent.Text; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// loneSurrogate reports whether JSON text escapes half a character.
func loneSurrogate(text string) bool {
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 || i+2 > len(text) {
			return false
		}
		text = text[i:]
		var high, low int
		if n, _ := fmt.Sscanf(text, `\u%4x\u%4x`, &high, &low); n == 2 && high>>10 == 0xD8>>2 && low>>10 == 0xDC>>2 {
			text = text[12:]
			continue
		}
		if n, _ := fmt.Sscanf(text, `\u%4x`, &high); n == 1 && high>>11 == 0xD8>>3 {
			return true
		}
		text = text[2:]
	}
}

func TestLongLineIsTaken(t *testing.T) {
	s := start(t, Options{MaxLine: testMaxLine})
	s.initialize("2025-11-25")
	line := callText("1", "echo", `{"text":""}`)
	pad := strings.Repeat("x", testMaxLine-len(line))
	s.send(callLine("1", "echo", `{"text":"`+pad+`"}`))
	if a := s.recv(); a.Error != nil || !strings.Contains(a.raw, pad) {
		t.Errorf("a line of exactly the limit gave %.200s", a.raw)
	}
	s.ping()
}

// endless is input without a line break, n bytes of it.
type endless struct{ n int }

func (r *endless) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	r.n -= n
	return n, nil
}

func TestLongLineIsSkippedInBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	br := bufio.NewReaderSize(&endless{256 << 20}, readBuffer)
	text, whole, err := readLine(br, 1<<20)
	runtime.ReadMemStats(&after)
	if whole || err != io.EOF || len(text) != maxHead {
		t.Errorf("got %d bytes, whole %v, %v", len(text), whole, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}
