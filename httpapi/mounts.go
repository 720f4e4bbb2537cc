package httpapi

import (
	"bufio"
	"cmp"
	"net"
	"net/http"
	"strings"
	"time"

	"example.org/parley/protocol"
)

// mount adds another protocol: its routes are let in, bounded and audited like our own.
func (a *api) mount(m *protocol.Mount) {
	a.mounts = append(a.mounts, m)
	for i := range m.Routes {
		r := mounted(m, &m.Routes[i])
		a.mux.HandleFunc(r.method+" "+r.paths[0], func(w http.ResponseWriter, request *http.Request) {
			if key := request.Header.Get(m.KeyHeader); m.KeyHeader != "" && key != "" &&
				request.Header.Get("Authorization") == "" {
				request.Header.Set("Authorization", "Bearer "+key)
			}
			a.answer(r, w, request)
		})
	}
}

// droppedBody is the most bytes of a body that a protocol's route does not take: many clients send {} with every POST.
const droppedBody = 1 << 10

// mounted is a protocol's route as one of the server.
func mounted(m *protocol.Mount, r *protocol.Route) *route {
	return &route{
		method: r.Method, paths: []string{m.Prefix + r.Path}, name: r.Name, verb: r.Verb, makes: r.Makes,
		most: cmp.Or(r.Body, droppedBody), crowds: r.Body > 0, foreign: true,
		serve: func(a *api, x *exchange) error { return r.Serve(a.foreignExchange(x)) },
	}
}

// mountOf returns the protocol whose path r names; nil for ours.
func (a *api) mountOf(r *http.Request) *protocol.Mount {
	for _, m := range a.mounts {
		if below, ok := strings.CutPrefix(r.URL.Path, m.Prefix); ok && (below == "" || below[0] == '/') {
			return m
		}
	}
	return nil
}

// foreignExchange is a request as a protocol sees it.
func (a *api) foreignExchange(x *exchange) *protocol.Exchange {
	foreign := &protocol.Exchange{
		W: x.w, R: x.r, Call: x.call, Principal: x.principal, RequestID: x.requestID, Body: x.body, Flush: a.flush,
		Leave: leave{a.gate, x}, Hold: x.holdApart, Serve: a.ServeHTTP,
		Take: func() (net.Conn, *bufio.Reader, func(), error) { return take(x.r.Context(), x.w) },
		Room: func() (func(), error) {
			end, err := beginStream(x.r.Context())
			x.streaming = err != nil
			return end, err
		},
		Problem: func(err error) protocol.Problem {
			problem := problemOf(err, x.requestID)
			return foreignProblem(&problem)
		},
	}
	foreign.Outlast = func() {
		x.call.End(x.r.Context())
		x.body, foreign.Body = nil, nil // it is in the record, and no longer counted
		x.letGo()
		x.leavePlace()
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{}) // a turn may take longer than an answer
	}
	return foreign
}

// foreignProblem is a problem as a protocol puts it into its own shape.
func foreignProblem(p *Problem) protocol.Problem {
	problem := protocol.Problem{Status: p.Status, Code: p.Code, Detail: p.Detail, RequestID: p.RequestID}
	if len(p.Errors) > 0 {
		problem.Field = p.Errors[0].Field
		if len(p.Errors) > 1 || !strings.Contains(p.Detail, problem.Field) {
			problem.Detail = problem.Field + ": " + p.Errors[0].Message
		}
	}
	return problem
}

// MountedRoutes returns a protocol's routes, for tests that cover all ways into the server.
func MountedRoutes(m *protocol.Mount) []Route {
	routes := make([]Route, len(m.Routes))
	for i := range m.Routes {
		r := &m.Routes[i]
		routes[i] = Route{
			Method: r.Method, Paths: []string{m.Prefix + r.Path}, Name: r.Name, Action: r.Name, Verb: r.Verb,
			Makes: r.Makes, Example: r.Example,
		}
	}
	return routes
}
