package httpapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

const parameterPrefix = "#/components/parameters/"

// use is a place where an operation has a parameter.
type use struct {
	operation *huma.Operation
	at        int // in its parameters
}

// name is the operation's, whichever of its paths this is.
func (u use) name() string {
	if main, ok := u.operation.Extensions["x-alias-of"].(string); ok {
		return main
	}
	return u.operation.OperationID
}

// shareParameters moves each parameter that several operations have into components.parameters, and lets the operations
// refer to it. A component is called after its place and name, as QueryLimit; where parameters of one name differ, also
// after the first operation that has it.
func shareParameters(document *huma.OpenAPI) error {
	uses, err := parameterUses(document)
	if err != nil {
		return err
	}
	sharing := map[string]int{} // by plain name: how many different parameters
	for _, of := range uses {
		sharing[of[0].component()]++
	}
	document.Components.Parameters = make(map[string]*huma.Param, len(uses))
	for _, of := range uses {
		name := of[0].component()
		if sharing[name] > 1 {
			name += "Of" + titled(of[0].name())
		}
		document.Components.Parameters[name] = of[0].operation.Parameters[of[0].at]
		for _, one := range of {
			one.operation.Parameters[one.at] = &huma.Param{Ref: parameterPrefix + name}
		}
	}
	return nil
}

// parameterUses returns the uses of each parameter that has several, in the order of paths.
func parameterUses(document *huma.OpenAPI) (map[string][]use, error) {
	uses := map[string][]use{} // by the parameter's JSON
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		item := document.Paths[path]
		for _, operation := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if operation == nil {
				continue
			}
			for at, p := range operation.Parameters {
				encoded, err := json.Marshal(p)
				if err != nil {
					return nil, err
				}
				uses[string(encoded)] = append(uses[string(encoded)], use{operation, at})
			}
		}
	}
	maps.DeleteFunc(uses, func(_ string, of []use) bool { return len(of) == 1 })
	return uses, nil
}

// component is what the parameter is called among the components.
func (u use) component() string {
	p := u.operation.Parameters[u.at]
	return titled(p.In) + titled(p.Name)
}

// titled is a name with each of its words capitalised and nothing between them.
func titled(name string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
