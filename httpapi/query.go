package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// checkQuery refuses parameters that the route does not take, and repeated ones that must not repeat.
func checkQuery(r *route, raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, parley.InvalidField("query", "is not a valid query string")
	}
	var problems []FieldProblem
	for name, given := range values {
		known := r.parameter(name)
		switch {
		case known == nil:
			problems = append(
				problems,
				FieldProblem{
					Field:   parley.Clip(name, maxProblemField),
					Message: "is not a parameter of this path; it accepts: " + r.parameterNames(),
				},
			)
		case len(given) > 1 && !known.repeats:
			problems = append(problems, FieldProblem{Field: name, Message: "may be given only once"})
		default:
			for _, text := range given {
				if parley.CheckText(name, text, maxParameterBytes) != nil {
					problems = append(
						problems,
						FieldProblem{Field: name, Message: "is too long, or contains characters that cannot be stored"},
					)
				}
			}
		}
		if len(problems) >= maxProblems {
			break
		}
	}
	if len(problems) > 0 {
		return nil, invalid(problems)
	}
	return values, nil
}

// maxParameterBytes bounds one value; the whole address is bounded too.
const maxParameterBytes = 4 << 10

func (r *route) parameter(name string) *parameter {
	for i := range r.query {
		if r.query[i].name == name {
			return &r.query[i]
		}
	}
	return nil
}

func (r *route) parameterNames() string {
	names := make([]string, 0, len(r.query))
	for _, p := range r.query {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// arguments reads query parameters; err keeps the first that cannot be read.
type arguments struct {
	values url.Values
	err    error
}

func (x *exchange) arguments() *arguments { return &arguments{values: x.query} }

func (a *arguments) text(name string) string { return a.values.Get(name) }

func (a *arguments) fail(name, format string, args ...any) {
	if a.err == nil {
		a.err = parley.InvalidField(name, format, args...)
	}
}

// id reads an id; zero if absent.
func (a *arguments) id(name string) parley.ID {
	text := a.text(name)
	if text == "" {
		return parley.ID{}
	}
	id, err := parley.ParseID(text)
	if err != nil {
		a.fail(name, "is not an id")
	}
	return id
}

// words reads the values of a repeatable filter; none if it is absent.
func words[T ~string](a *arguments, name string) (all []T) {
	given := a.values[name]
	if len(given) > maxFilterValues {
		a.fail(name, "has %d values; at most %d", len(given), maxFilterValues)
		return nil
	}
	for _, text := range given {
		if text != "" {
			all = append(all, T(text))
		}
	}
	return all
}

// ids reads the ids of a repeatable filter.
func (a *arguments) ids(name string) (all []parley.ID) {
	for _, text := range words[string](a, name) {
		id, err := parley.ParseID(text)
		if err != nil {
			a.fail(name, "is not an id")
			return nil
		}
		all = append(all, id)
	}
	return all
}

// numbers reads the integers of a repeatable filter.
func (a *arguments) numbers(name string, least, most int) (all []int) {
	for _, text := range words[string](a, name) {
		n := a.integer(name, text, least, most)
		if n == nil {
			return nil
		}
		all = append(all, *n)
	}
	return all
}

// flag reads true or false; nil if absent.
func (a *arguments) flag(name string) *bool {
	switch a.text(name) {
	case "":
		return nil
	case "true":
		yes := true
		return &yes
	case "false":
		no := false
		return &no
	}
	a.fail(name, "must be true or false")
	return nil
}

// number reads an integer within bounds; nil if absent.
func (a *arguments) number(name string, least, most int) *int {
	text := a.text(name)
	if text == "" {
		return nil
	}
	return a.integer(name, text, least, most)
}

func (a *arguments) integer(name, text string, least, most int) *int {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		a.fail(name, "must be an integer from %d to %d", least, most)
		return nil
	}
	return &n
}

// since reads the beginning of a span, which belongs to it; zero if absent. A date alone is the beginning of its day in
// UTC.
func (a *arguments) since(name string) parley.Time { return a.time(name, 0) }

// until reads the end of a span, which does not belong to it; zero if absent. A date alone is the end of its day in
// UTC: the day belongs to the span.
func (a *arguments) until(name string) parley.Time { return a.time(name, 1) }

// time reads an instant, or a date to whose beginning it adds days.
func (a *arguments) time(name string, days int) parley.Time {
	text := a.text(name)
	if text == "" {
		return 0
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return parley.TimeOf(date.AddDate(0, 0, days))
	}
	var t parley.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		a.fail(name, "is not a time such as 2026-01-31T12:00:00.000Z, nor a date such as 2026-01-31")
	}
	return t
}

// paging reads the parameters of all lists.
func (a *arguments) paging() engine.Paging {
	page := engine.Paging{Cursor: a.text("cursor"), Order: engine.Order(a.text("order"))}
	if limit := a.number("limit", 1, parley.MaxPage); limit != nil {
		page.Limit = *limit
	}
	return page
}

// flushMS reads flush_ms, the pace of merged deltas.
func (a *arguments) flushMS(standard time.Duration) time.Duration {
	if ms := a.number("flush_ms", 0, maxFlushMS); ms != nil {
		return time.Duration(*ms) * time.Millisecond
	}
	return standard
}

// maxFlushMS is the slowest pace of deltas that a watcher may ask for.
const maxFlushMS = 60_000
