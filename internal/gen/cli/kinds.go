package cli

import (
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/internal/gen/operations"
)

// flagOfSchema returns the function of cmd/parley that makes a flag's value for a parameter.
func flagOfSchema(p *operations.Parameter) (string, error) {
	s := p.Schema
	switch {
	case s.Type == huma.TypeArray && s.Items.Type == huma.TypeInteger:
		return "numbersFlag", nil
	case s.Type == huma.TypeArray && s.Items.Format == "uuid":
		return "addReferences", nil
	case s.Type == huma.TypeArray && len(s.Items.Enum) == 0:
		return "textsFlag", nil
	case s.Type == huma.TypeArray:
		return "wordsFlag", nil
	case s.Type == huma.TypeBoolean:
		return "addChoice", nil
	case s.Type == huma.TypeInteger:
		return "numberFlag", nil
	case s.Type == huma.TypeString && s.Format == "uuid":
		return "addReference", nil
	case operations.IsTime(s):
		return "timeFlag", nil
	case s.Type == huma.TypeString:
		return "wordFlag", nil
	}
	return "", fmt.Errorf("parameters of type %q cannot be flags", s.Type)
}

// flagOfMember is flagOfSchema for a member of an input. A nested object cannot be a flag.
func flagOfMember(t reflect.Type) (string, bool) {
	switch {
	case t == reflect.TypeFor[parley.ID]():
		return "addReference", true
	case t.PkgPath() == "encoding/json":
		return "jsonFlag", true
	case t.Kind() == reflect.String:
		return "wordFlag", true
	case t.Kind() == reflect.Bool:
		return "BoolVar", true
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "numberFlag", true
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "wordsFlag", true
	}
	return "", false
}

// parserOf returns the function of cmd/parley that parses a value from a flag's text.
func parserOf(t reflect.Type) (string, bool) {
	switch {
	case t.PkgPath() == "encoding/json":
		return "readJSON", true
	case t.Kind() == reflect.String && t.Name() == "string":
		return "readWord[string]", true
	case t.Kind() == reflect.String:
		return "readWord[" + t.String() + "]", true
	case t.Kind() == reflect.Bool:
		return "readBool", true
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "readWords", true
	}
	return "", false
}
