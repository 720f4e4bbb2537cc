package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/httpapi"
	"example.org/parley/internal/gen/operations"
)

// wire records the last request that a client sent, and its answer. A path beside the API has no answer but an error.
type wire struct {
	under http.RoundTripper

	mu       sync.Mutex // guards the rest
	method   string
	sent     *url.URL
	accepted string
	status   int
	body     []byte // of JSON
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.under.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.method, w.sent, w.accepted, w.status, w.body = r.Method, r.URL, r.Header.Get("Accept"), 0, nil
	if err != nil {
		return response, err
	}
	w.status = response.StatusCode
	if strings.HasSuffix(strings.SplitN(response.Header.Get("Content-Type"), ";", 2)[0], "json") {
		w.body, err = io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(w.body))
	}
	return response, err
}

// TestTheClientCallsEveryOperation calls each method once, and again with each of its query parameters: the request is
// the operation's, the server takes it, and what it answers is whole in the method's result.
func TestTheClientCallsEveryOperation(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	projects, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	srv, c := opened(t, dir, map[string]string{"PARLEY_PROJECT_ROOTS": projects}, log)
	w := &wire{under: http.DefaultTransport}
	token, err := os.ReadFile(filepath.Join(dir, tokenFile)) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	watched, err := client.New(client.Options{
		URL: c.URL(), Key: strings.TrimSpace(string(token)), HTTPClient: &http.Client{Transport: w}, Retries: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		watched.Close()
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	api, err := operations.Read()
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{}
	for _, route := range httpapi.Routes() {
		examples[route.Name] = route.Example
	}
	examples["replayCall"] = `{"model":"sim/echo"}` // the one of its example is not configured here
	examples["replayCallStream"] = examples["replayCall"]
	examples["chooseProject"] = string(append(parley.AppendJSONString([]byte(`{"path":`), projects), '}'))
	for _, o := range api.Operations {
		(&caller{t, watched, c, w, o, o.GoName(), examples[o.ID], projects}).all()
	}
}

// caller calls one method.
type caller struct {
	*testing.T
	client  *client.Client // whose wire is watched
	other   *client.Client // makes what the call needs
	wire    *wire
	of      *operations.Operation
	name    string
	example string // of a body
	path    string // of a directory that may be a project
}

func (c *caller) all() {
	c.Helper()
	method := reflect.ValueOf(c.client).MethodByName(c.name)
	if !method.IsValid() {
		c.Errorf("the client has no method %s for %s", c.name, c.of.ID)
		return
	}
	c.call(method, "")
	for i := range c.of.Query {
		if hasField(method.Type(), operations.Exported(c.of.Query[i].Name)) {
			c.call(method, c.of.Query[i].Name)
		} else if c.of.Query[i].Name != "flush_ms" && c.of.Body == nil {
			c.Errorf("%s cannot set %s", c.name, c.of.Query[i].Name)
		}
	}
}

func hasField(method reflect.Type, name string) bool {
	for i := range method.NumIn() {
		if t := method.In(i); strings.HasSuffix(t.Name(), "Query") {
			_, ok := t.FieldByName(name)
			return ok
		}
	}
	return false
}

// call calls the method with the operation's example as its input and one parameter of its query.
func (c *caller) call(method reflect.Value, parameter string) {
	ctx, cancel := context.WithTimeout(c.Context(), turnTime)
	defer cancel()
	places := c.places()
	arguments := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < method.Type().NumIn()-1; i++ {
		argument := reflect.New(method.Type().In(i)).Elem()
		switch {
		case i-1 < len(c.of.Places):
			set(c.T, argument, places[c.of.Places[i-1].Name])
		case argument.Kind() == reflect.Interface:
			argument.Set(reflect.ValueOf(strings.NewReader("the bytes of a file")))
		case strings.HasSuffix(argument.Type().Name(), "Query"):
			c.ask(argument, parameter)
		default:
			if err := json.Unmarshal([]byte(c.example), argument.Addr().Interface()); err != nil {
				c.Fatalf("%s: the example is no input: %v", c.name, err)
			}
		}
		arguments = append(arguments, argument)
	}
	result := method.Call(arguments)
	var err error
	if c.isStream(method) {
		next, stop := iter.Pull2(
			result[0].Interface().(iter.Seq2[client.Frame, error]),
		) //nolint:forcetypeassert // see isStream
		_, err, _ = next()
		stop()
	} else {
		err, _ = result[len(result)-1].Interface().(error)
		if body, ok := result[0].Interface().(io.ReadCloser); ok && body != nil {
			err = errors.Join(err, body.Close())
		}
	}
	c.check(method, parameter, err)
}

func (c *caller) isStream(method reflect.Value) bool {
	return method.Type().NumOut() == 1 && method.Type().Out(0).Kind() == reflect.Func
}

// check compares what went over the wire with the operation.
func (c *caller) check(method reflect.Value, parameter string, err error) {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	what := c.name
	if parameter != "" {
		what += " with " + parameter
		if c.wire.sent == nil || !c.wire.sent.Query().Has(parameter) {
			c.Errorf("%s does not send it", what)
		}
	}
	template := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(c.of.Path), `[^/]+`)
	if c.wire.method != c.of.Method || !regexp.MustCompile("^"+template+"$").MatchString(c.wire.sent.Path) {
		c.Errorf("%s sends %s %s, which is not %s %s", what, c.wire.method, c.wire.sent.Path, c.of.Method, c.of.Path)
	}
	for sent := range c.wire.sent.Query() {
		if !slices.ContainsFunc(c.of.Query, func(p operations.Parameter) bool { return p.Name == sent }) {
			c.Errorf("%s sends the parameter %s", what, sent)
		}
	}
	if streams := c.wire.accepted == "text/event-stream"; streams != c.isStream(method) {
		c.Errorf("%s accepts %q", what, c.wire.accepted)
	}
	code := parley.ErrorCode(err)
	// What is asked for is not always there, or not in the state that it takes; a key of an example signs nobody in.
	if !slices.Contains([]parley.Code{
		"", parley.CodeNotFound, parley.CodeConflict, parley.CodeNothingToCancel, parley.CodeUnauthenticated,
	}, code) && parameter != "cursor" { // which a server makes
		c.Errorf("%s: %v", what, err)
	}
	if code != "" || c.wire.body == nil || c.of.Raw || c.isStream(method) {
		return
	}
	answer := reflect.New(method.Type().Out(0))
	decoder := json.NewDecoder(bytes.NewReader(c.wire.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(answer.Interface()); err != nil {
		c.Errorf("%s leaves something of its answer out: %v in %s", what, err, c.wire.body)
	}
}

// places are the values of the path's variables: of a session that has just answered a message, and of what is nowhere.
func (c *caller) places() map[string]string {
	c.Helper()
	nowhere := parley.NewID().String()
	values := map[string]string{"client": "window", "version": "1"}
	if slices.ContainsFunc(c.of.Places, func(p operations.Parameter) bool { return p.Name == "agent" }) {
		agent, err := c.other.CreateAgent(c.Context(), client.AgentInput{Name: "Somebody " + nowhere})
		if err != nil {
			c.Fatal(err)
		}
		values["agent"] = agent.Slug
	}
	for _, place := range c.of.Places {
		if values[place.Name] == "" {
			values[place.Name] = nowhere
		}
	}
	if values["session"] == "" && values["message"] == "" && values["turn"] == "" && values["call"] == "" {
		return values
	}
	ctx := c.Context()
	session, err := c.other.CreateSession(ctx, client.SessionInput{Settings: parley.Settings{Model: "sim/echo"}})
	if err != nil {
		c.Fatal(err)
	}
	for _, err := range c.other.PostMessageStream(ctx, session.ID, client.UserMessage("hello")) {
		if err != nil {
			c.Fatal(err)
		}
	}
	messages, err := c.other.Messages(ctx, session.ID, client.MessagesQuery{})
	if err != nil || len(messages.Data) == 0 {
		c.Fatalf("%d messages, %v", len(messages.Data), err)
	}
	calls, err := c.other.Calls(ctx, session.ID, client.CallsQuery{})
	if err != nil || len(calls.Data) != 1 {
		c.Fatalf("%d calls, %v", len(calls.Data), err)
	}
	values["session"], values["message"] = session.ID.String(), messages.Data[0].ID.String()
	values["turn"], values["call"] = messages.Data[0].TurnID.String(), calls.Data[0].ID.String()
	return values
}

// ask sets one parameter of a query, and what the operation asks for in any case.
func (c *caller) ask(query reflect.Value, parameter string) {
	c.Helper()
	given := map[string]string{"search": "q", "getSessionByKey": "key", "uploadFile": "name"}[c.of.ID]
	for i := range c.of.Query {
		p := &c.of.Query[i]
		field := query.FieldByName(operations.Exported(p.Name))
		switch {
		case !field.IsValid() || p.Name != parameter && p.Name != given:
		case c.of.ID == "getSessionByKey" && p.Name == "key" && parameter != "key" && parameter != "": // instead of it
		default:
			set(c.T, field, c.sample(p))
		}
	}
	if c.of.ID == "getSessionByKey" && parameter != "key" && parameter != "" {
		query.FieldByName("Type").SetString("task")
		query.FieldByName("Feature").SetString("login")
	}
}

// sample is a value that a parameter may have.
func (c *caller) sample(p *operations.Parameter) string {
	s := p.Schema
	if s.Type == huma.TypeArray {
		s = s.Items
	}
	switch {
	case len(s.Enum) > 0:
		value, _ := s.Enum[0].(string)
		return value
	case s.Type == huma.TypeBoolean:
		return "true"
	case s.Type == huma.TypeInteger:
		return "1"
	case s.Format == "uuid":
		return parley.NewID().String()
	case operations.IsTime(s):
		return "2026-01-31T12:00:00.000Z"
	case p.Name == "session": // the place of a feed
		return parley.NewID().String() + ":0"
	case p.Name == "owner":
		return "me"
	case p.Name == "wait":
		return "30s"
	case p.Name == "path":
		return c.path
	case p.Name == "range": // lines
		return "3-7"
	}
	return "text"
}

// set sets a parameter's field from its text.
func set(t *testing.T, field reflect.Value, text string) {
	t.Helper()
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
		return
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		set(t, field.Index(0), text)
		return
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		set(t, field.Elem(), text)
		return
	}
	encoded := []byte(text)
	if field.Type() == reflect.TypeFor[parley.ID]() || field.Type() == reflect.TypeFor[parley.Time]() {
		encoded = parley.AppendJSONString(nil, text)
	}
	if err := json.Unmarshal(encoded, field.Addr().Interface()); err != nil {
		t.Fatalf("%v is not a %v: %v", text, field.Type(), err)
	}
}
