package httpapi

import (
	"reflect"
	"slices"

	"example.org/parley/engine"
)

// Route is one way into the server, for tests that cover all of them.
type Route struct {
	Method  string
	Paths   []string // templates; all of them do the same
	Name    string
	Action  string      // its name in the audit: its own, or that of the route that it is the stream or a view of
	Verb    engine.Verb // its permission; "" if any principal may
	Open    bool        // answers without a principal
	Makes   bool        // creates something of the caller's own and touches nothing that exists
	Local   bool        // for the server's own user only
	Lasting bool        // answers with a stream that does not end by itself
	Repeats bool        // takes an idempotency key
	Query   []string    // names of its parameters
	Body    reflect.Type
	Example string // of the body; "" without one
}

// Routes is every route of the API.
func Routes() []Route {
	list := routes()
	out := make([]Route, 0, len(list))
	for i := range list {
		r := &list[i]
		route := Route{
			Method:  r.method,
			Paths:   r.paths,
			Name:    r.name,
			Action:  r.action(),
			Verb:    r.verb,
			Open:    r.open,
			Makes:   r.makes,
			Local:   r.local,
			Lasting: r.lasting,
		}
		for _, p := range r.query {
			route.Query = append(route.Query, p.name)
		}
		route.Repeats = slices.ContainsFunc(r.headers, func(p parameter) bool { return p.name == idempotencyHeader })
		if r.input != nil {
			route.Body, route.Example = r.input.of, r.input.example
		}
		if r.uploads {
			route.Example = `"of a file"`
		}
		out = append(out, route)
	}
	return out
}
