package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReportWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		stop := reportWaiting(t.Context(), &stderr, "wait")
		time.Sleep(5 * time.Second)
		stop()
		if got, want := stderr.String(), "wait: waiting for 2 s\nwait: waiting for 4 s\n"; got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
	})
}

func TestPrintFields(t *testing.T) {
	var b bytes.Buffer
	fields, err := orderedFields([]byte(`{"z": 1, "a": "x\ny", "rows": [{"id": "p", "text": "l1\nl2\n"}, 5], "none": [], "nil": null}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		printField(&b, "", f)
	}
	want := strings.TrimPrefix(`
z: 1
a:
  | x
  | y
rows:
  - id: p
    text:
      | l1
      | l2
  - 5
none: []
nil: null
`, "\n")
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestOrderedFieldsRefusesOthers(t *testing.T) {
	for _, text := range []string{"", "[]", "3", `"x"`, "{", `{"a"`} {
		if fields, err := orderedFields([]byte(text)); err == nil {
			t.Errorf("%q: fields %v", text, fields)
		}
	}
}
