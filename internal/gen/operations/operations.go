// Package operations reads the API's description from the program being built, for the generators of the client and the
// command line.
package operations

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley/httpapi"
)

// API lists the operations of the API.
type API struct {
	Operations []*Operation // by tag, path and method
	Lists      map[reflect.Type][]string
}

// Operation is one operation.
type Operation struct {
	ID, Tag, Method, Path string
	Summary, About        string

	Places []Parameter // variables of the path, in order
	Query  []Parameter
	Keyed  bool // takes an idempotency key

	HasBody bool
	Body    reflect.Type // of a JSON body; nil without fields, and for Bytes
	Bytes   bool         // the body is bytes of any kind

	Answers []reflect.Type // Go types of its JSON answers, the usual one first
	Raw     bool           // the answer is bytes, or JSON without a type
	Streams bool           // one of the answers is a stream of events
}

// Parameter is a variable of a path or of a query.
type Parameter struct {
	Name, About string
	Schema      *huma.Schema
}

// Words returns the allowed words of a parameter, in the document's order; none if it is free.
func Words(s *huma.Schema) (words []string) {
	if s.Type == huma.TypeArray {
		s = s.Items
	}
	for _, value := range s.Enum {
		if word, ok := value.(string); ok {
			words = append(words, word)
		}
	}
	return words
}

// IsTime reports whether a parameter is a time, or a date alone.
func IsTime(s *huma.Schema) bool {
	return s.Type == huma.TypeString && s.Extensions[httpapi.TimeMark] != nil
}

const (
	jsonMedia    = "application/json"
	bytesMedia   = "application/octet-stream"
	streamMedia  = "text/event-stream"
	keyHeader    = "Idempotency-Key"
	schemaPrefix = "#/components/schemas/"
	aliasMark    = "x-alias-of"
	aliasEnd     = "OfAgent" // ends the ids of operations also served below an agent
)

// Read reads the description. It omits operations that are another one at a second path.
func Read() (*API, error) {
	described := httpapi.Describe()
	api := &API{Lists: described.Lists}
	for path, item := range described.Document.Paths {
		for method, operation := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
			http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if operation == nil || operation.Extensions[aliasMark] != nil ||
				strings.HasSuffix(operation.OperationID, aliasEnd) {
				continue
			}
			one, err := read(described, method, path, operation)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", operation.OperationID, err)
			}
			api.Operations = append(api.Operations, one)
		}
	}
	slices.SortFunc(api.Operations, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return api, nil
}

// Find returns the operation with an id.
func (a *API) Find(id string) (*Operation, error) {
	for _, operation := range a.Operations {
		if operation.ID == id {
			return operation, nil
		}
	}
	return nil, fmt.Errorf("the API has no operation %s", id)
}

var placePattern = regexp.MustCompile(`\{(\w+)\}`)

func read(described *httpapi.Described, method, path string, from *huma.Operation) (*Operation, error) {
	one := &Operation{
		ID:      from.OperationID,
		Tag:     from.Tags[0],
		Method:  method,
		Path:    path,
		Summary: from.Summary,
		About:   from.Description,
	}
	for _, match := range placePattern.FindAllStringSubmatch(path, -1) {
		for _, p := range from.Parameters {
			if p.In == "path" && p.Name == match[1] {
				one.Places = append(one.Places, Parameter{p.Name, p.Description, p.Schema})
			}
		}
	}
	for _, p := range from.Parameters {
		switch {
		case p.In == "query":
			one.Query = append(one.Query, Parameter{p.Name, p.Description, p.Schema})
		case p.In == "header" && p.Name == keyHeader:
			one.Keyed = true
		}
	}
	if from.RequestBody != nil {
		one.HasBody = true
		media := from.RequestBody.Content[jsonMedia]
		switch {
		case media != nil:
			t, err := typeOf(described, media.Schema)
			if err != nil {
				return nil, err
			}
			if t.NumField() > 0 {
				one.Body = t
			}
		case from.RequestBody.Content[bytesMedia] != nil:
			one.Bytes = true
		default:
			return nil, fmt.Errorf("its body is in none of the media types %s, %s", jsonMedia, bytesMedia)
		}
	}
	return one, one.readAnswers(described, from)
}

// readAnswers reads the answers of the 2xx and 3xx families. The usual answer is that for something created or started;
// answers for existing things and special cases follow.
func (o *Operation) readAnswers(described *httpapi.Described, from *huma.Operation) error {
	for _, status := range []string{"201", "202", "200", "204", "303"} {
		response := from.Responses[status]
		if response == nil {
			continue
		}
		for media, content := range response.Content {
			switch {
			case media == streamMedia:
				o.Streams = true
			case media != jsonMedia || content.Schema.Ref == "" && len(content.Schema.AnyOf) == 0:
				o.Raw = true
			default:
				for _, schema := range append([]*huma.Schema{content.Schema}, content.Schema.AnyOf...) {
					if schema.Ref == "" {
						continue
					}
					t, err := typeOf(described, schema)
					if err != nil {
						return err
					}
					if !slices.Contains(o.Answers, t) {
						o.Answers = append(o.Answers, t)
					}
				}
			}
		}
	}
	return nil
}

func typeOf(described *httpapi.Described, schema *huma.Schema) (reflect.Type, error) {
	t := described.Types[strings.TrimPrefix(schema.Ref, schemaPrefix)]
	if t == nil {
		return nil, fmt.Errorf("the schema %q has no Go type", schema.Ref)
	}
	return t, nil
}

// Rows returns the type of a list's rows, and whether the operation returns pages of them.
func (o *Operation) Rows() (reflect.Type, bool) {
	if len(o.Answers) == 0 {
		return nil, false
	}
	return RowsOf(o.Answers[0])
}

// RowsOf returns the type of the rows of a page.
func RowsOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "page[") {
		return nil, false
	}
	data, _ := t.FieldByName("Data")
	return data.Type.Elem(), true
}

// Listed is the type of the rows of an answer that has data and next, whatever else it says.
func (o *Operation) Listed() (reflect.Type, bool) {
	if len(o.Answers) == 0 || o.Answers[0].Kind() != reflect.Struct {
		return nil, false
	}
	data, hasData := o.Answers[0].FieldByName("Data")
	next, hasNext := o.Answers[0].FieldByName("Next")
	if !hasData || !hasNext || data.Type.Kind() != reflect.Slice || next.Type != reflect.TypeFor[*string]() {
		return nil, false
	}
	return data.Type.Elem(), true
}

// Paged reports a list that has cursors.
func (o *Operation) Paged() bool {
	_, isList := o.Listed()
	return isList && slices.ContainsFunc(o.Query, func(p Parameter) bool { return p.Name == "cursor" })
}

// Keys returns the names of a struct's members in JSON.
func Keys(t reflect.Type) []string {
	var keys []string
	for _, field := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); field.IsExported() && key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}
