package mcptest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// schema is as much of JSON Schema as a tool's output schema uses.
type schema struct {
	Type       types              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
	AnyOf      []*schema          `json:"anyOf"`
	Additional json.RawMessage    `json:"additionalProperties"`
}

// types is the value of "type": one name or a list of them.
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// check says what is wrong with the value; where names it.
func (s *schema) check(value any, where string) error {
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(t string) bool { return isType(value, t) }) {
		return fmt.Errorf("%s is %T and should be %v", where, value, s.Type)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		return fmt.Errorf("%s is %v and should be one of %v", where, value, s.Enum)
	}
	if len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, func(a *schema) bool { return a.check(value, where) == nil }) {
		return fmt.Errorf("%s fits none of the alternatives", where)
	}
	if list, ok := value.([]any); ok && s.Items != nil {
		for i, item := range list {
			if err := s.Items.check(item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	}
	if object, ok := value.(map[string]any); ok {
		return s.checkObject(object, where)
	}
	return nil
}

func (s *schema) checkObject(object map[string]any, where string) error {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s lacks %s", where, name)
		}
	}
	for name, value := range object {
		property := s.Properties[name]
		if property == nil {
			if string(s.Additional) == "false" {
				return fmt.Errorf("%s has a field %s that the schema does not know", where, name)
			}
			continue
		}
		if err := property.check(value, where+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func isType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}
