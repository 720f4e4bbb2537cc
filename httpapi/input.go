package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"example.org/parley"
)

// changeName begins the name of every parley.Change.
const changeName = "Change["

// isInput reports whether a type is a body, or part of one, whose fields may be left out.
func isInput(t reflect.Type) bool {
	if t == reflect.TypeFor[parley.ToolDefinition]() || t == reflect.TypeFor[parley.AgentTool]() {
		return true
	}
	if t == reflect.TypeFor[parley.TransformInput]() { // what a transform reads, in answers
		return false
	}
	return strings.HasSuffix(t.Name(), "Input") || strings.HasSuffix(t.Name(), "Patch")
}

// flattened is an unnamed struct with the JSON fields of an input, in the form that schemas and validation need: fields
// of embedded structs are its own, all may be left out unless tagged required, and a Change has the type of its value.
func (r *registry) flattened(t reflect.Type) reflect.Type {
	if flat, ok := r.inputs[t]; ok {
		return flat
	}
	var fields []reflect.StructField
	taken := map[string]bool{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" || taken[name] {
			continue
		}
		taken[name] = true
		tag := field.Tag
		if one, ok := settingOf(t, field); ok {
			described, belongs := settingTags(t, one)
			if !belongs {
				continue
			}
			tag += described
		}
		switch {
		case t == reflect.TypeFor[parley.ToolDefinition]() && name == "name":
			tag += ` required:"true"`
		case tag.Get("required") == "":
			tag += ` required:"false"`
		}
		fields = append(fields, reflect.StructField{Name: field.Name, Type: r.inputField(field.Type), Tag: tag})
	}
	flat := reflect.StructOf(fields)
	r.inputs[t] = flat
	r.names[flat] = huma.DefaultSchemaNamer(t, "")
	return flat
}

// inputField is a field's type in an input's schema: any field may be null, which clears it.
func (r *registry) inputField(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), changeName) {
		t = t.Field(1).Type // Value
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isInput(t) {
		t = r.flattened(t)
	}
	return reflect.PointerTo(t)
}

// By default the validator ignores the case of names, as encoding/json does. Only the whole process can change that.
func init() { huma.ValidateStrictCasing = true } //nolint:gochecknoinits // see above

// decode reads one JSON object strictly into the target. If it does not fit, the schema finds out every wrong field.
func decode(a *api, x *exchange, target any) error {
	if len(bytes.TrimSpace(x.body)) == 0 {
		x.body = []byte("{}")
	}
	decoder := json.NewDecoder(bytes.NewReader(x.body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(target)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			return parley.Errorf(parley.CodeInvalid, "The body holds more than one JSON value.")
		}
	}
	if err != nil {
		return a.explain(x, err)
	}
	if parley.FoldsNames(x.body) {
		if problems := a.violations(x); len(problems) > 0 {
			return invalid(problems)
		}
	}
	return nil
}

// checked is decode with the schema's rules applied first, for routes that are not hot.
func checked(a *api, x *exchange, target any) error {
	if len(bytes.TrimSpace(x.body)) == 0 {
		x.body = []byte("{}")
	}
	if problems := a.violations(x); len(problems) > 0 {
		return invalid(problems)
	}
	return decode(a, x, target)
}

// explain turns a decoder's error into one that names the fields.
func (a *api) explain(x *exchange, cause error) error {
	if problems := a.violations(x); len(problems) > 0 {
		return invalid(problems)
	}
	var known *parley.Error
	if errors.As(cause, &known) {
		return known
	}
	var kind *json.UnmarshalTypeError
	if errors.As(cause, &kind) && kind.Field != "" {
		return wrongType(kind)
	}
	if name, ok := strings.CutPrefix(cause.Error(), "json: unknown field "); ok {
		return parley.InvalidField(parley.Clip(strings.Trim(name, `"`), 64), "is not a known field")
	}
	return parley.Errorf(parley.CodeInvalid, "The body is not valid JSON%s.", x.suchAs())
}

// wrongType reports a field whose value is of the wrong type, or a number out of its range.
func wrongType(wrong *json.UnmarshalTypeError) error {
	names := strings.Split(wrong.Field, ".")
	for len(names) > 1 && unicode.IsUpper(rune(names[0][0])) { // an embedded struct, which clients do not know
		names = names[1:]
	}
	field := parley.Clip(strings.Join(names, "."), maxProblemField)
	if strings.HasPrefix(wrong.Value, "number ") {
		if kind := wrong.Type.Kind(); kind == reflect.Float64 || kind == reflect.Float32 {
			return parley.InvalidField(field, "is a number out of range")
		}
		return parley.InvalidField(field, "must be a whole number within range")
	}
	return parley.InvalidField(field, "has the wrong JSON type")
}

// mostShownExample bounds the example of a body in an error, in bytes.
const mostShownExample = 200

// suchAs shows how the body looks, unless its example is long.
func (x *exchange) suchAs() string {
	if x.example == "" || len(x.example) > mostShownExample {
		return "; /docs shows an example"
	}
	return ", such as " + x.example
}

// violations lists what breaks the body's schema, without values.
func (a *api) violations(x *exchange) []FieldProblem {
	var value any
	if err := json.Unmarshal(x.body, &value); err != nil {
		return nil
	}
	if _, isObject := value.(map[string]any); !isObject {
		return []FieldProblem{{Field: "body", Message: "must be a JSON object" + x.suchAs()}}
	}
	schema := x.schema
	var result huma.ValidateResult
	huma.Validate(a.schemas, schema, huma.NewPathBuffer(make([]byte, 0, 64), 0), huma.ModeWriteToServer, value, &result)
	var problems []FieldProblem
	for _, err := range result.Errors {
		var detail *huma.ErrorDetail
		if errors.As(err, &detail) && len(problems) < maxProblems {
			problem := problemAt(detail)
			if detail.Message == validation.MsgUnexpectedProperty {
				problem.Message = a.unknownField(schema, detail.Location)
			}
			problems = append(problems, problem)
		}
	}
	return problems
}

// problemAt names the missing field; huma names the object that lacks it.
func problemAt(detail *huma.ErrorDetail) FieldProblem {
	field, message := detail.Location, detail.Message
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	if name, ok := strings.CutPrefix(message, before); ok && strings.HasSuffix(name, after) {
		field = strings.TrimPrefix(field+"."+strings.TrimSuffix(name, after), ".")
		message = "is missing"
	}
	if message == validation.MsgExpectedMatchExactlyOneSchema { // two types have several forms
		message = parley.ToolForms
		if field == "context" {
			message = parley.LoopContextForms
		}
	}
	if message == validation.MsgExpectedObject {
		message = "must be a JSON object"
		if field == "content" || strings.HasSuffix(field, ".content") {
			message += `, such as {"text":"Hello"}`
		}
	}
	return FieldProblem{Field: parley.Clip(field, maxProblemField), Message: message}
}

// The bounds of an error's list of fields.
const (
	maxProblems     = 32
	maxProblemField = 128
	maxListedFields = 16 // of an object, named in full when a field is unknown
)

// invalid names several fields, in one sentence and one by one.
func invalid(problems []FieldProblem) error {
	names := make([]string, 0, len(problems))
	for _, p := range problems {
		names = append(names, p.Field+": "+p.Message)
	}
	return &invalidFields{
		known:  parley.Errorf(parley.CodeInvalid, "%s", parley.Clip(strings.Join(names, "; "), 1024)),
		fields: problems,
	}
}
