// Package schema reads JSON Schemas that others wrote, and holds values against
// them. Nothing that a schema refers to elsewhere is ever fetched.
package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"parley"
)

// maxViolationBytes bounds what is told of arguments that do not fit.
const maxViolationBytes = 1024

// Schema is one that can be checked against. The zero Schema lets everything pass.
type Schema struct{ resolved *jsonschema.Resolved }

// Read reads a schema. It fails for one that does not hold together, that refers to
// another document, or that names a type which JSON Schema does not have: a misspelt
// type would fit nothing, and say so of every value.
func Read(raw json.RawMessage) (read Schema, err error) {
	defer func() {
		if value := recover(); value != nil { // a schema of strangers must not end the process
			read, err = Schema{}, fmt.Errorf("the schema broke the validator: %v", value)
		}
	}()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return Schema{}, fmt.Errorf("this is no JSON Schema: %w", err)
	}
	if err := checkTypes(reflect.ValueOf(&schema)); err != nil {
		return Schema{}, err
	}
	resolved, err := schema.Resolve(nil)
	return Schema{resolved}, err
}

// types are those of JSON Schema.
func types() []string {
	return []string{"array", "boolean", "integer", "null", "number", "object", "string"}
}

// checkTypes looks at a schema and all within it. v is a *jsonschema.Schema, or a
// list or map of them.
func checkTypes(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		schema, ok := v.Interface().(*jsonschema.Schema)
		if !ok || schema == nil {
			return nil
		}
		for _, name := range append(slices.Clone(schema.Types), schema.Type) {
			if name != "" && !slices.Contains(types(), name) {
				return fmt.Errorf("%q is no type: there are %v", parley.Clip(name, 64), types())
			}
		}
		for i := range v.Elem().NumField() {
			if field := v.Elem().Type().Field(i); !field.IsExported() {
				continue
			}
			if err := checkTypes(v.Elem().Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if v.Type().Elem() != reflect.TypeFor[*jsonschema.Schema]() {
			return nil
		}
		for i := range v.Len() {
			if err := checkTypes(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		if v.Type().Elem() != reflect.TypeFor[*jsonschema.Schema]() {
			return nil
		}
		for each := v.MapRange(); each.Next(); {
			if err := checkTypes(each.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fits reports whether a text is JSON that fits. An error means that the validator
// broke over it.
func (s Schema) Fits(text string) (fits bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			fits, err = true, fmt.Errorf("the value broke the validator: %v", value)
		}
	}()
	var value any
	isJSON := json.Unmarshal([]byte(text), &value) == nil
	return isJSON && (s.resolved == nil || s.resolved.Validate(value) == nil), nil
}

// Check says what is wrong with the arguments of a call, "" when nothing is. An
// error means that the validator broke over them: they go unchecked.
//
// Models write null for what they leave out, and tools' protocols read it so: it may
// stand where an argument need not.
func (s Schema) Check(arguments json.RawMessage) (wrong string, err error) {
	if s.resolved == nil {
		return "", nil
	}
	defer func() {
		if value := recover(); value != nil {
			wrong, err = "", fmt.Errorf("the arguments broke the validator: %v", value)
		}
	}()
	var value map[string]any
	if err := json.Unmarshal(arguments, &value); err != nil || value == nil {
		return "they are no JSON object", nil
	}
	violation := s.resolved.Validate(value)
	if violation == nil {
		return "", nil
	}
	maps.DeleteFunc(value, func(_ string, given any) bool { return given == nil })
	if s.resolved.Validate(value) == nil {
		return "", nil
	}
	return parley.Clip(violation.Error(), maxViolationBytes), nil
}
