package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// document is what both formats offer.
type document interface {
	Get(path ...string) (any, bool)
	Set(value any, path ...string) error
	Delete(path ...string) error
	Bytes() []byte
}

var entry = Object{
	{"command", "/bin/ys"},
	{"env", Object{{"K", "v"}}},
}

// story is a document before and after an entry is put into it. The entry's
// removal must give back the original, or what is in back.
type story struct {
	name, before, after string
	back                string
}

func (s story) run(t *testing.T, parse func([]byte) (document, error), path ...string) {
	t.Helper()
	d, err := parse([]byte(s.before))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Set(entry, path...); err != nil {
		t.Fatal(err)
	}
	if got := string(d.Bytes()); got != s.after {
		t.Errorf("with the entry:\n%s\nwant:\n%s\n(%q)", got, s.after, got)
	}
	if err := d.Set("v", append(path, "env", "K")...); err != nil {
		t.Fatal(err)
	}
	if got := string(d.Bytes()); got != s.after {
		t.Errorf("setting a value to what it is made:\n%s", got)
	}
	if err := d.Delete(path...); err != nil {
		t.Fatal(err)
	}
	back := s.back
	if back == "" {
		back = s.before
	}
	if got := string(d.Bytes()); got != back {
		t.Errorf("after the removal:\n%s\nwant:\n%s\n(%q)", got, back, got)
	}
}

func parseJSON(src []byte) (document, error) { return ParseJSON(src) }
func parseTOML(src []byte) (document, error) { return ParseTOML(src) }

func TestJSONSetAndDelete(t *testing.T) {
	for _, s := range []story{
		{
			name:   "empty file",
			before: "",
			after:  "{\n  \"s\": {\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n",
			back:   "{\n  \"s\": {}\n}\n",
		},
		{
			name:   "nothing but a comment",
			before: "// mine\n",
			after:  "// mine\n{\n  \"s\": {\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n",
			back:   "// mine\n{\n  \"s\": {}\n}\n",
		},
		{
			name:   "another server",
			before: "{\n  \"s\": {\n    \"o\": {\"command\": \"x\"}\n  }\n}\n",
			after:  "{\n  \"s\": {\n    \"o\": {\"command\": \"x\"},\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n",
		},
		{
			name:   "tabs, CRLF, byte order mark, no line end at the end",
			before: "\uFEFF{\r\n\t\"s\": {\r\n\t\t\"o\": {}\r\n\t}\r\n}",
			after:  "\uFEFF{\r\n\t\"s\": {\r\n\t\t\"o\": {},\r\n\t\t\"y\": {\r\n\t\t\t\"command\": \"/bin/ys\",\r\n\t\t\t\"env\": {\r\n\t\t\t\t\"K\": \"v\"\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n}",
		},
		{
			name:   "comments and trailing commas",
			before: "// top\n{\n    /* a */ \"a\": 1, // one\n    \"s\": {\n        // first\n        \"o\": {\"x\": [1, 2,]}, // after\n        // last\n    },\n}\n// end\n",
			after:  "// top\n{\n    /* a */ \"a\": 1, // one\n    \"s\": {\n        // first\n        \"o\": {\"x\": [1, 2,]}, // after\n        // last\n        \"y\": {\n            \"command\": \"/bin/ys\",\n            \"env\": {\n                \"K\": \"v\"\n            }\n        },\n    },\n}\n// end\n",
		},
		{
			name:   "a comment behind the last member",
			before: "{\n  \"s\": {\n    \"o\": 1 // one\n  }\n}\n",
			after:  "{\n  \"s\": {\n    \"o\": 1, // one\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n",
		},
		{
			name:   "an empty object with a comment",
			before: "{\n  \"s\": {\n    // none yet\n  }\n}\n",
			after:  "{\n  \"s\": {\n    // none yet\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n",
		},
		{
			name:   "one line",
			before: `{"s":{"o":{}},"z":[1,2]}`,
			after:  `{"s":{"o":{},"y":{"command":"/bin/ys","env":{"K":"v"}}},"z":[1,2]}`,
		},
		{
			name:   "one line with spaces",
			before: `{"s": {}, "z": 1}`,
			after:  `{"s": {"y": {"command": "/bin/ys", "env": {"K": "v"}}}, "z": 1}`,
		},
		{
			name:   "an inline object in a file of many lines",
			before: "{\n  \"s\": {\"o\": 1}\n}\n",
			after:  "{\n  \"s\": {\"o\": 1, \"y\": {\"command\": \"/bin/ys\", \"env\": {\"K\": \"v\"}}}\n}\n",
		},
		{
			name:   "a null in its place",
			before: "{\n  \"s\": null\n}\n",
			after:  "{\n  \"s\": {\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}\n",
			back:   "{\n  \"s\": {}\n}\n",
		},
		{
			name:   "the same name twice: the last one counts",
			before: "{\n  \"s\": {},\n  \"s\": {\n    \"o\": 9007199254740993\n  }\n}",
			after:  "{\n  \"s\": {},\n  \"s\": {\n    \"o\": 9007199254740993,\n    \"y\": {\n      \"command\": \"/bin/ys\",\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}",
		},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, parseJSON, "s", "y") })
	}
}

func TestTOMLSetAndDelete(t *testing.T) {
	const table = "[s.y]\ncommand = \"/bin/ys\"\n\n[s.y.env]\nK = \"v\"\n"
	for _, s := range []story{
		{name: "empty file", before: "", after: table},
		{
			name:   "comments and other tables",
			before: "# top\nmodel = \"m\" # which\n\n[s.o]\ncommand = \"x\"\n# args = []\n\n[[p]]\nd = 1979-05-27T07:32:00Z\nf = [\n  nan, # odd\n]\n",
			after:  "# top\nmodel = \"m\" # which\n\n[s.o]\ncommand = \"x\"\n# args = []\n\n[[p]]\nd = 1979-05-27T07:32:00Z\nf = [\n  nan, # odd\n]\n\n" + table,
		},
		{
			name:   "CRLF and a byte order mark",
			before: "\uFEFF[s.o]\r\ncommand = \"x\"\r\n",
			after:  "\uFEFF[s.o]\r\ncommand = \"x\"\r\n\r\n" + strings.ReplaceAll(table, "\n", "\r\n"),
		},
		{
			name:   "no line end at the end",
			before: "a = 1",
			after:  "a = 1\n\n" + strings.TrimSuffix(table, "\n"),
		},
		{
			name:   "dotted keys",
			before: "s.o.command = \"x\"\n",
			after:  "s.o.command = \"x\"\n\n" + table,
		},
		{
			name:   "an inline table",
			before: "s = { o = { command = \"x\" } } # all\nz = 1\n",
			after:  "s = { o = { command = \"x\" }, y = { command = \"/bin/ys\", env = { K = \"v\" } } } # all\nz = 1\n",
		},
		{
			name:   "an empty inline table",
			before: "s = {}\n",
			after:  "s = {y = { command = \"/bin/ys\", env = { K = \"v\" } }}\n",
		},
		{
			name:   "an inline table of several lines",
			before: "s = {\n  o = 1, # one\n}\n",
			after:  "s = {\n  o = 1, # one\n  y = { command = \"/bin/ys\", env = { K = \"v\" } },\n}\n",
		},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, parseTOML, "s", "y") })
	}
}

func TestTOMLDeleteAndSetForms(t *testing.T) {
	for _, test := range []struct{ name, before, set, deleted string }{
		{
			name:    "headers in the middle",
			before:  "[s.y]\ncommand = \"a\" # here\n\n[s.y.env]\nX = \"x\"\n\n# about z\n[z]\nn = 1\n",
			set:     "[s.y]\ncommand = \"b\" # here\n\n[s.y.env]\nX = \"x\"\nK = \"v\"\n\n# about z\n[z]\nn = 1\n",
			deleted: "\n# about z\n[z]\nn = 1\n",
		},
		{
			name:    "inline in the table of servers",
			before:  "[s]\no = {command = \"o\"}\ny = {command = \"a\", env = {X = \"x\"}}\n",
			set:     "[s]\no = {command = \"o\"}\ny = {command = \"b\", env = {X = \"x\", K = \"v\"}}\n",
			deleted: "[s]\no = {command = \"o\"}\n",
		},
		{
			name:    "dotted",
			before:  "s.y.command = 'a'\ns.y.env.X = \"x\"\ns.o.command = \"o\"\n",
			set:     "s.y.command = \"b\"\ns.y.env.X = \"x\"\ns.y.env.K = \"v\"\ns.o.command = \"o\"\n",
			deleted: "s.o.command = \"o\"\n",
		},
		{
			name:    "dotted under a header",
			before:  "[s]\n  \"y\".command = \"a\"\n\"y\".env = { }\n",
			set:     "[s]\n  \"y\".command = \"b\"\n\"y\".env = {K = \"v\"}\n",
			deleted: "[s]\n",
		},
		{
			name:    "all inline",
			before:  "s = { y = { command = \"a\" }, o = { command = \"o\" } }\n",
			set:     "s = { y = { command = \"b\", env = { K = \"v\" } }, o = { command = \"o\" } }\n",
			deleted: "s = { o = { command = \"o\" } }\n",
		},
		{
			name:    "alone in an inline table",
			before:  "s = { y = { command = \"a\" } }\n",
			set:     "s = { y = { command = \"b\", env = { K = \"v\" } } }\n",
			deleted: "s = {}\n",
		},
		{
			name:    "no table for the variables",
			before:  "[s.y]\ncommand = \"\"\"a\"\"\"\nargs = [\n  \"x\", # y\n]\n[z]\n",
			set:     "[s.y]\ncommand = \"b\"\nargs = [\n  \"x\", # y\n]\n[z]\n\n[s.y.env]\nK = \"v\"\n",
			deleted: "[z]\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := ParseTOML([]byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Set("b", "s", "y", "command"); err != nil {
				t.Fatal(err)
			}
			if _, exists := d.Get("s", "y", "env"); exists {
				err = d.Set("v", "s", "y", "env", "K")
			} else {
				err = d.Set(Object{{"K", "v"}}, "s", "y", "env")
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(d.Bytes()); got != test.set {
				t.Errorf("set:\n%s\nwant:\n%s", got, test.set)
			}
			d, _ = ParseTOML([]byte(test.before))
			if err := d.Delete("s", "y"); err != nil {
				t.Fatal(err)
			}
			if got := string(d.Bytes()); got != test.deleted {
				t.Errorf("deleted:\n%s\nwant:\n%s", got, test.deleted)
			}
		})
	}
}

func TestJSONSetInside(t *testing.T) {
	before := "{\n  \"s\": {\n    \"y\": {\n      \"command\": \"uvx\", // runs it\n      \"args\": [\n        \"p\"\n      ]\n    },\n    \"o\": {}\n  }\n}\n"
	d, err := ParseJSON([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		d.Set("C:\\ys.exe", "s", "y", "command"),
		d.Set([]string{}, "s", "y", "args"),
		d.Set("v", "s", "y", "env", "K"),
		d.Set(true, "s", "y", "on"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "{\n  \"s\": {\n    \"y\": {\n      \"command\": \"C:\\\\ys.exe\", // runs it\n      \"args\": [],\n      \"env\": {\n        \"K\": \"v\"\n      },\n      \"on\": true\n    },\n    \"o\": {}\n  }\n}\n"
	if got := string(d.Bytes()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestJSONDeleteLayouts(t *testing.T) {
	for before, want := range map[string]string{
		`{"a": 1, "y": 2}`:                      `{"a": 1}`,
		`{"y": 1, "a": 2}`:                      `{"a": 2}`,
		`{"y": 1, "a": 2, "y": 3}`:              `{"a": 2}`,
		"{\"a\": 1, // c\n \"y\": 2}":           "{\"a\": 1 // c\n }",
		"{\n  \"y\": 1, // mine\n  \"a\": 2\n}": "{\n  // mine\n  \"a\": 2\n}",
		"{\n  // above\n  \"y\": 1\n}":          "{\n  // above\n}",
		"{ \"y\": 1 }":                          "{}",
		"{\n  \"a\": 1\n  , \"y\": 2\n}":        "{\n  \"a\": 1\n  \n}",
		`{"a": 1}`:                              `{"a": 1}`,
	} {
		d, err := ParseJSON([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Delete("y"); err != nil {
			t.Errorf("%s: %v", before, err)
		}
		if got := string(d.Bytes()); got != want {
			t.Errorf("%s\ngot:  %q\nwant: %q", before, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, src, want string
		parse           func([]byte) (document, error)
	}{
		{"JSON cut short", "{\n  \"s\": {", "not valid JSON: line 2, column 9", parseJSON},
		{"JSON with a stray word", "{\"s\": {}} x", "not valid JSON: line 1", parseJSON},
		{"a comment that never ends", "/* x", "not valid JSON: line 1", parseJSON},
		{"a list", "[]", "the file holds a list where an object was expected", parseJSON},
		{"UTF-16", "\xff\xfe{\x00}\x00", "line 1 is not UTF-8", parseJSON},
		{"TOML cut short", "a = 1\n[s", "not valid TOML: line 2", parseTOML},
		{"a table twice", "[a]\n[a]\n", "not valid TOML: line 2", parseTOML},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.parse([]byte(test.src))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s...", err, test.want)
			}
		})
	}
	for _, test := range []struct {
		name, src, want string
		parse           func([]byte) (document, error)
	}{
		{"a list in JSON", `{"s": []}`, `"s" is a list where an object was expected`, parseJSON},
		{"a string in JSON", `{"s": {"y": ""}}`, `"s.y" is a string where an object was expected`, parseJSON},
		{"a value in TOML", `s = 1`, `"s" is a single value where an object was expected`, parseTOML},
		{"tables in TOML", "[[s]]\n", `"s" is a list where an object was expected`, parseTOML},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := test.parse([]byte(test.src))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Set("v", "s", "y", "K"); err == nil || err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
			if got := string(d.Bytes()); got != test.src {
				t.Errorf("a refused change made %q", got)
			}
		})
	}
}

func TestTOMLStrings(t *testing.T) {
	for _, s := range []string{"", "a", `C:\Program Files\x.exe`, "it's", `a"b\c'd`, "tab\tnew\nline", "\x01\x7f", "ü€😀", "a.b c"} {
		d, _ := ParseTOML(nil)
		if err := d.Set(Object{{s, s}}, "s", s+"x"); err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if got, _ := d.Get("s", s+"x", s); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
}

// fuzzEdit checks what must hold for every document that can be parsed: an
// entry that is put in is there and nothing else has changed; putting it in
// again changes nothing; taking it out leaves what was there.
func fuzzEdit(t *testing.T, src []byte, parse func([]byte) (document, error), decode func([]byte) (map[string]any, error)) {
	d, err := parse(src)
	if err != nil {
		return
	}
	before, err := decode(d.Bytes())
	if err != nil {
		t.Fatalf("the parser took what the decoder does not: %v", err)
	}
	_, existed := lookup(before, []string{"s", "y"})
	if err := d.Set(entry, "s", "y"); err != nil {
		if errors.Is(err, ErrUnfaithful) {
			t.Fatalf("%v", err)
		}
		return
	}
	after := d.Bytes()
	got, err := decode(after)
	if err != nil {
		t.Fatalf("%v\n%s", err, after)
	}
	_, inObject := before["s"].(map[string]any)
	before = withValue(before, []string{"s", "y"}, entry)
	if !same(got, before) {
		t.Fatalf("it now means %v, not %v\n%s", got, before, after)
	}
	if inObject && !existed && !onlyAdded(src, after) {
		t.Fatalf("something of the original is gone:\n%s\n%s", src, after)
	}
	if err := d.Set(entry, "s", "y"); err != nil || !bytes.Equal(d.Bytes(), after) && !existed {
		t.Fatalf("again: %v\n%s\n%s", err, after, d.Bytes())
	}
	if err := d.Delete("s", "y"); err != nil {
		t.Fatal(err)
	}
	got, err = decode(d.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	before = without(before, []string{"s", "y"})
	before = withoutImplied(before, got, []string{"s", "y"})
	if !same(got, before) {
		t.Fatalf("after the removal it means %v, not %v", got, before)
	}
}

// onlyAdded reports whether every visible byte of the original is still there,
// in the same order.
func onlyAdded(original, now []byte) bool {
	for _, b := range original {
		if bytes.IndexByte([]byte(whiteSpace), b) >= 0 {
			continue
		}
		i := bytes.IndexByte(now, b)
		if i < 0 {
			return false
		}
		now = now[i+1:]
	}
	return true
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"s":{}}`, "{\n \"s\": { // c\n \"o\": 1, /* d */ }, }", `{"s": null, "t": [1, {"s": 2}]}`,
		"\uFEFF{\r\n\t\"s\": {\r\n\t}\r\n}", `{"s":{"y":1,"y":{"env":{}}}}`, "{\"a\": 1, // c\n \"s\": {\"y\": 2}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		fuzzEdit(t, src, parseJSON, func(text []byte) (map[string]any, error) {
			standard, err := hujson.Standardize(bytes.TrimPrefix(bytes.Clone(text), []byte(byteOrderMark)))
			if err != nil {
				return nil, err
			}
			var root map[string]any
			d := json.NewDecoder(bytes.NewReader(standard))
			d.UseNumber()
			err = d.Decode(&root)
			return root, err
		})
	})
}

func FuzzTOML(f *testing.F) {
	for _, s := range []string{
		"", "[s]\n", "[s.y]\ncommand = 'x'\n[s.y.env]\nK='v'\n", "s = {y={},o=1}", "s.y.command = 1\n", "[s]\ny = { command = \"x\" } # c\n",
		"a = [\n1, # x\n]\n[[b]]\n[b.c]\n", "\uFEFFa = 1\r\n[ s . o ]\r\n", "[s.\"y\"]\nx = '''\n[t]\n'''\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		fuzzEdit(t, src, parseTOML, func(text []byte) (map[string]any, error) {
			root := map[string]any{}
			err := toml.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrderMark)), &root)
			return root, err
		})
	})
}
