package httpapi

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Described is the API's description with the Go types behind it, for generators.
type Described struct {
	Document *huma.OpenAPI
	Types    map[string]reflect.Type   // by the names of the document's schemas
	Lists    map[reflect.Type][]string // the closed lists of words, with their values
}

// Describe describes the API of this build.
func Describe() *Described {
	document, schemas := describe()
	out := &Described{Document: document, Types: map[string]reflect.Type{}, Lists: map[reflect.Type][]string{}}
	for name, t := range schemas.types {
		out.Types[name] = t
	}
	for input, flat := range schemas.inputs { // an input's schema is that of its flattened form
		out.Types[schemas.names[flat]] = input
	}
	for t, list := range schemas.lists {
		out.Lists[t] = list.values
	}
	return out
}
