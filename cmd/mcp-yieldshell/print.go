package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// printResult prints a tool's result: its fields, a line each and texts of
// several lines indented below their name, or the JSON as it came.
func printResult(w io.Writer, result *sdk.CallToolResult, asJSON bool) error {
	text := resultText(result)
	if asJSON {
		_, err := fmt.Fprintln(w, text)
		return err
	}
	fields, err := orderedFields([]byte(text))
	if err != nil { // not an object: a message
		_, err = fmt.Fprintln(w, text)
		return err
	}
	var b bytes.Buffer
	for _, f := range fields {
		printField(&b, "", f)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// resultText is the JSON of the result, which the text content carries in the
// tool's own order of fields.
func resultText(result *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// field is one member of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// orderedFields splits a JSON object, keeping the order of its members.
func orderedFields(object []byte) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	var fields []field
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		fields = append(fields, field{name.(string), value})
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, err
	}
	return fields, nil
}

func printField(b *bytes.Buffer, indent string, f field) {
	var text string
	if json.Unmarshal(f.value, &text) == nil && f.value[0] == '"' {
		printText(b, indent, f.name, text)
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(f.value, &list) == nil && len(list) > 0 {
		fmt.Fprintf(b, "%s%s:\n", indent, f.name)
		for _, item := range list {
			printItem(b, indent+"  ", item)
		}
		return
	}
	if members, err := orderedFields(f.value); err == nil && len(members) > 0 {
		fmt.Fprintf(b, "%s%s:\n", indent, f.name)
		for _, m := range members {
			printField(b, indent+"  ", m)
		}
		return
	}
	fmt.Fprintf(b, "%s%s: %s\n", indent, f.name, f.value)
}

// printItem prints an element of a list: an object as a block of its own.
func printItem(b *bytes.Buffer, indent string, item json.RawMessage) {
	fields, err := orderedFields(item)
	if err != nil {
		fmt.Fprintf(b, "%s- %s\n", indent, item)
		return
	}
	for i, f := range fields {
		mark := "  "
		if i == 0 {
			mark = "- "
		}
		var one bytes.Buffer
		printField(&one, indent+"  ", f)
		line := one.Bytes()
		copy(line[len(indent):], mark)
		b.Write(line)
	}
}

func printText(b *bytes.Buffer, indent, name, text string) {
	if text == "" || !strings.Contains(text, "\n") {
		fmt.Fprintf(b, "%s%s: %s\n", indent, name, text)
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, name)
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "%s  | %s", indent, line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n")
		}
	}
}
