package httpapi

import (
	"errors"
	"html"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/observe"
)

// codeStatus is a row of the table from codes to HTTP statuses.
type codeStatus struct {
	code   parley.Code
	status int
}

// statuses is the only table from codes to HTTP statuses. It leaves out codes that only workers see: if they come this
// far, they are internal.
func statuses() []codeStatus {
	return []codeStatus{
		{parley.CodeInvalid, http.StatusUnprocessableEntity},
		{parley.CodeUnauthenticated, http.StatusUnauthorized},
		{parley.CodeForbidden, http.StatusForbidden},
		{parley.CodeNotFound, http.StatusNotFound},
		{parley.CodeConflict, http.StatusConflict},
		{parley.CodeArchived, http.StatusConflict},
		{parley.CodeBusy, http.StatusConflict},
		{parley.CodeNothingToCancel, http.StatusConflict},
		{parley.CodeKeyReused, http.StatusConflict},
		{parley.CodeChanged, http.StatusPreconditionFailed},
		{parley.CodeTooLarge, http.StatusRequestEntityTooLarge},
		{parley.CodeUnsupported, http.StatusUnsupportedMediaType},
		{parley.CodeRateLimited, http.StatusTooManyRequests},
		{parley.CodeStorageFull, http.StatusInsufficientStorage},
		{parley.CodeUnavailable, http.StatusServiceUnavailable},
		{parley.CodeInternal, http.StatusInternalServerError},
	}
}

// statusOf is a code's status; false for a code that is not public.
func statusOf(code parley.Code) (status int, public bool) {
	for _, row := range statuses() {
		if row.code == code {
			return row.status, true
		}
	}
	return http.StatusInternalServerError, false
}

// problemType is what every problem document's type begins with; the code follows.
const problemType = "urn:parley:error:"

// comesAgain reports whether answers of this status say when to try again.
func comesAgain(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable ||
		status == http.StatusInsufficientStorage
}

// retryAfter is the least number of seconds that 429, 503 and 507 name.
const retryAfter = "1"

// Problem is the body of every error answer (RFC 9457).
type Problem struct {
	Type      string         `json:"type" doc:"urn:parley:error: and the code."`
	Title     string         `json:"title" doc:"The status in words."`
	Status    int            `json:"status" doc:"The HTTP status."`
	Detail    string         `json:"detail" doc:"What is wrong and what to do, for a person."`
	Code      parley.Code    `json:"code" doc:"What is wrong, for a program."`
	RequestID parley.ID      `json:"request_id" doc:"Also in the header Parley-Request-Id and in the server's log."`
	State     *string        `json:"state" doc:"The state that does not allow the request, for a program; null unless a conflict is about one."`
	End       *int           `json:"end" doc:"Where the text ends, in UTF-8 bytes, if an append began elsewhere; else null."`
	Versions  *parley.Stale  `json:"versions" doc:"The two versions of an artifact, if a change began with one that is not the newest; else null."`
	Errors    []FieldProblem `json:"errors" doc:"The fields and parameters that break a rule; null if there are none."`
}

// FieldProblem names one field of the input and its rule, never its value.
type FieldProblem struct {
	Field   string `json:"field" doc:"Dotted path in the body, or the name of a parameter."`
	Message string `json:"message" doc:"The rule that it breaks."`
}

// invalidFields is an error of several fields at once; the Error inside has code and message.
type invalidFields struct {
	known  *parley.Error
	fields []FieldProblem
}

func (e *invalidFields) Error() string { return e.known.Error() }
func (e *invalidFields) Unwrap() error { return e.known }

// problemOf returns what a client learns of an error. Anything that is not an Error of a public code is internal, and
// only the log has its text.
func problemOf(err error, requestID parley.ID) Problem {
	problem := Problem{Code: parley.CodeInternal, RequestID: requestID}
	var known *parley.Error
	if errors.As(err, &known) {
		problem.Code = known.Code
	}
	status, public := statusOf(problem.Code)
	if !public || problem.Code == parley.CodeInternal {
		status, problem.Code = http.StatusInternalServerError, parley.CodeInternal
		problem.Detail = "Something went wrong inside Parley. The server's log has the details under this request's id."
	} else {
		problem.Detail, problem.State, problem.End = known.Message, parley.OrNull(known.State), known.End
		problem.Versions = known.Stale
		var several *invalidFields
		if errors.As(err, &several) {
			problem.Errors = several.fields
		} else if known.Field != "" {
			problem.Errors = []FieldProblem{
				{Field: known.Field, Message: strings.TrimPrefix(known.Message, known.Field+": ")},
			}
		}
	}
	problem.Type = problemType + string(problem.Code)
	var method *wrongMethod
	if errors.As(err, &method) {
		status = http.StatusMethodNotAllowed
	}
	problem.Title, problem.Status = http.StatusText(status), status
	return problem
}

// wrongMethod is the only error whose status does not follow from its code: the path exists for other methods.
type wrongMethod struct{ known *parley.Error }

func (e *wrongMethod) Error() string { return e.known.Error() }
func (e *wrongMethod) Unwrap() error { return e.known }

// attrs describe a request in a log line: its id, and what is known of its subject.
func (x *exchange) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String(
			"request_id",
			x.requestID.String(),
		),
		slog.String("method", x.r.Method),
		slog.String("route", x.r.Pattern),
	}
	for _, id := range x.call.Sessions() {
		attrs = append(attrs, slog.String("session_id", id.String()))
	}
	if !x.turn.IsZero() {
		attrs = append(attrs, slog.String("turn_id", x.turn.String()))
	}
	return attrs
}

// fail answers with a problem document, and logs errors that no client caused.
func (a *api) fail(x *exchange, err error) { a.failAt(slog.LevelError, x, err) }

// failAt is fail with a log level for errors of the server.
func (a *api) failAt(level slog.Level, x *exchange, err error) {
	problem := problemOf(err, x.requestID)
	if problem.Status >= http.StatusInternalServerError && x.r.Context().Err() == nil {
		a.log.LogAttrs(x.r.Context(), level, "request failed", append(x.attrs(),
			slog.String("code", string(problem.Code)), slog.String("error", err.Error()))...)
	}
	header := x.w.Header()
	var known *parley.Error
	if problem.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	if comesAgain(problem.Status) {
		header.Set("Retry-After", retryAfter)
		if errors.As(err, &known) && known.RetryAfter > time.Second {
			header.Set("Retry-After", strconv.FormatInt(int64((known.RetryAfter+time.Second-1)/time.Second), 10))
		}
	}
	if problem.Code == parley.CodeRateLimited && a.limited != nil && !x.guessing {
		switch {
		case x.keyLimited:
			a.limited(observe.RateOfKey)
		case x.streaming:
			a.limited(observe.RateOfStreams)
		default:
			a.limited(observe.RateOfSession)
		}
	}
	header.Del("Location")
	header.Del(eventSequenceHeader)
	header.Del(messageHeader)
	body, media := appendProblem(make([]byte, 0, 512), problem), "application/problem+json"
	if m := a.mountOf(x.r); m != nil {
		problem.Status, body = m.Fail(foreignProblem(&problem))
		media = "application/json"
	}
	if x.person {
		body, media = problemPage(problem), "text/html; charset=utf-8"
		header.Set("Content-Security-Policy", problemPolicy)
	}
	header.Set("Content-Type", media)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(problem.Status)
	_, _ = x.w.Write(body) // the client may be gone
}

// problemPolicy lets the page of a problem have styles and nothing else.
const problemPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// problemPage is a problem as a page, light or dark as the browser prefers.
func problemPage(p Problem) []byte {
	return []byte(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not signed in – Parley</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; padding: 0 1rem }
body { overflow-wrap: anywhere }
h1 { font-size: 1.25rem }
</style>
<main>
<h1>Not signed in</h1>
<p>` + html.EscapeString(p.Detail) + `</p>
<p><a href="/">To the page</a></p>
</main>
</html>
`)
}

func appendProblem(to []byte, p Problem) []byte {
	to = parley.AppendJSONString(append(to, `{"type":`...), p.Type)
	to = parley.AppendJSONString(append(to, `,"title":`...), p.Title)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(p.Status), 10)
	to = parley.AppendJSONString(append(to, `,"detail":`...), p.Detail)
	to = parley.AppendJSONString(append(to, `,"code":`...), string(p.Code))
	to = appendID(append(to, `,"request_id":`...), p.RequestID)
	if p.State == nil {
		to = append(to, `,"state":null`...)
	} else {
		to = parley.AppendJSONString(append(to, `,"state":`...), *p.State)
	}
	if p.End == nil {
		to = append(to, `,"end":null`...)
	} else {
		to = strconv.AppendInt(append(to, `,"end":`...), int64(*p.End), 10)
	}
	if p.Versions == nil {
		to = append(to, `,"versions":null`...)
	} else {
		to = strconv.AppendInt(append(to, `,"versions":{"base":`...), int64(p.Versions.Base), 10)
		to = append(strconv.AppendInt(append(to, `,"newest":`...), int64(p.Versions.Newest), 10), '}')
	}
	if len(p.Errors) == 0 {
		return append(to, `,"errors":null}`...)
	}
	to = append(to, `,"errors":[`...)
	for i, field := range p.Errors {
		if i > 0 {
			to = append(to, ',')
		}
		to = parley.AppendJSONString(append(to, `{"field":`...), field.Field)
		to = parley.AppendJSONString(append(to, `,"message":`...), field.Message)
		to = append(to, '}')
	}
	return append(to, "]}"...)
}
