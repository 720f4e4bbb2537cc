package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// completion is what a chat completion answers, of what the tests look at.
type completion struct {
	status  int
	session string // in the header
	Choices []struct {
		Message struct {
			Content   *string    `json:"content"`
			ToolCalls []toolCall `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Input  int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
		Total  int `json:"total_tokens"`
	} `json:"usage"`
	Error *struct {
		Message, Type string
		Param, Code   *string
	} `json:"error"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (c *completion) text() string {
	if len(c.Choices) != 1 || c.Choices[0].Message.Content == nil {
		return ""
	}
	return *c.Choices[0].Message.Content
}

// code is the code of the error, "" without one.
func (c *completion) code() string {
	if c.Error == nil || c.Error.Code == nil {
		return ""
	}
	return *c.Error.Code
}

// said are messages of a history.
type said []map[string]any

func user(text string) map[string]any { return map[string]any{"role": "user", "content": text} }
func assistant(text string) map[string]any {
	return map[string]any{"role": "assistant", "content": text}
}

// chatRequest makes the request of a chat completion; more are further members of its body.
func (s *server) chatRequest(
	ctx context.Context,
	model string,
	messages said,
	more map[string]any,
	headers ...string,
) *http.Request {
	s.t.Helper()
	body := map[string]any{"model": model, "messages": messages}
	for name, value := range more {
		body[name] = value
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	url := s.url + "/openai/v1/chat/completions"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.key())
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request
}

// chat sends a chat completion and reads its answer whole.
func (s *server) chat(model string, messages said, more map[string]any, headers ...string) completion {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), turnDeadline)
	defer cancel()
	response, err := http.DefaultClient.Do(s.chatRequest(ctx, model, messages, more, headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	got := completion{status: response.StatusCode, session: response.Header.Get("X-Parley-Session")}
	raw, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil {
		s.t.Fatalf("%v: %s", err, raw)
	}
	if got.status == http.StatusOK && got.session == "" {
		s.t.Errorf("an answer names no session: %s", raw)
	}
	return got
}

// A history that is sent again continues its session; one that diverges forks it; one that is new, or could continue
// several, begins one.
func TestChatHistories(t *testing.T) { onEach(t, chatHistories) }

func chatHistories(t *testing.T, at place) {
	s := startAt(t, at)
	const model = "sim/echo"
	first := s.chat(model, said{user("one")}, nil)
	if first.status != http.StatusOK || first.text() != "one" || first.Choices[0].FinishReason != "stop" ||
		first.Usage.Total == 0 {
		t.Fatalf("the first answer is %+v", first)
	}
	var session struct {
		Statistics struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"statistics"`
	}
	s.get("/v1/sessions/"+first.session, &session)
	if used := first.Usage; used.Input != session.Statistics.Input || used.Output != session.Statistics.Output ||
		used.Total != used.Input+used.Output {
		t.Errorf("the answer used %+v; the session says %+v", used, session.Statistics)
	}
	history := said{user("one"), assistant("one"), user("two")}
	second := s.chat(model, history, nil)
	if second.text() != "two" || second.session != first.session {
		t.Errorf("the next message got %q in %s; want it in %s", second.text(), second.session, first.session)
	}
	trimmed := s.chat(model, append(said{
		{"role": "system", "content": "Be {{brief}}."}, user("one"), assistant(" one\n"), user("two"),
		{"role": "assistant", "content": []map[string]any{{"type": "text", "text": "two"}}, "refusal": nil},
	}, user("three")), nil)
	if trimmed.text() != "three" || trimmed.session != first.session {
		t.Errorf("the same history in another form got %q in %s", trimmed.text(), trimmed.session)
	}
	fork := s.chat(model, said{user("one"), assistant("one"), user("other")}, nil)
	if fork.text() != "other" || fork.session == first.session || s.parentOf(fork.session) != first.session {
		t.Errorf("a diverging history got %q in %s, a fork of %s", fork.text(), fork.session, s.parentOf(fork.session))
	}
	edited := s.chat(model, said{user("one"), assistant("edited"), user("two")}, nil)
	if edited.text() != "two" || s.parentOf(edited.session) != first.session {
		t.Errorf(
			"an edited answer got %q in %s, a fork of %s",
			edited.text(),
			edited.session,
			s.parentOf(edited.session),
		)
	}
	on := s.chat(model, said{user("one"), assistant("edited"), user("two"), assistant("two"), user("three")}, nil)
	if on.session != edited.session {
		t.Errorf("the fork's history went on in %s, want %s", on.session, edited.session)
	}
	fresh := s.chat(model, said{user("before"), assistant("known to nobody"), user("now")}, nil)
	if fresh.text() != "now" || s.parentOf(fresh.session) != "" {
		t.Errorf("an unknown history got %q in %s, a fork", fresh.text(), fresh.session)
	}
	if n := s.messagesOf(fresh.session); n != 4 {
		t.Errorf("the unknown history left %d messages, want all four", n)
	}
	twin := s.chat(model, said{user("before"), assistant("known to nobody"), user("now")}, nil)
	if twin.session == fresh.session {
		t.Error("a question asked again was answered in the session of its first answer")
	}
	for name, other := range map[string]completion{
		"another user":  s.chat(model, history, map[string]any{"user": "ann"}),
		"another agent": s.chat("parley", history, nil),
	} {
		if other.session == first.session || s.parentOf(other.session) != "" {
			t.Errorf("%s continued the session", name)
		}
	}
	one, two := s.chat(model, said{user("hi")}, nil), s.chat(model, said{user("hi")}, nil)
	both := s.chat(model, said{user("hi"), assistant("hi"), user("who am I?")}, nil)
	if one.session == two.session || both.session == one.session || both.session == two.session {
		t.Errorf("a history of two sessions, %s and %s, went on in %s", one.session, two.session, both.session)
	}
	named := s.chat(model, said{user("hi"), assistant("hi"), user("still me")}, nil, "X-Parley-Session", two.session)
	if named.session != two.session || named.text() != "still me" {
		t.Errorf("the named session %s: %q in %s", two.session, named.text(), named.session)
	}
	keyed := func() completion { return s.chat(model, said{user("once")}, nil, "Idempotency-Key", "k1") }
	if a, b := keyed(), keyed(); a.session != b.session || b.text() != "once" {
		t.Errorf("one key made two sessions: %s and %s", a.session, b.session)
	}
}

// parentOf returns the session that a session was forked from; "" for none.
func (s *server) parentOf(session string) string {
	s.t.Helper()
	var got struct {
		Parent *string `json:"parent_session_id"`
	}
	s.get("/v1/sessions/"+session, &got)
	if got.Parent == nil {
		return ""
	}
	return *got.Parent
}

func (s *server) messagesOf(session string) int {
	s.t.Helper()
	var got struct{ Data []json.RawMessage }
	s.get("/v1/sessions/"+session+"/messages", &got)
	return len(got.Data)
}

// get reads JSON of the API.
func (s *server) get(path string, into any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), turnDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: status %d", path, response.StatusCode)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		s.t.Fatal(err)
	}
}

// weather is a tool of the client.
var weather = []map[string]any{{"type": "function", "function": map[string]any{
	"name": "weather", "parameters": map[string]any{"type": "object", "properties": map[string]any{
		"city": map[string]any{"type": "string"},
	}},
}}}

// askWeather is a script in which the model asks for two cities, and then says what it heard.
const askWeather = `[[{"text":"Let me look."},` +
	`{"tool_call":{"name":"weather","arguments":{"city":"Oslo"}}},` +
	`{"tool_call":{"name":"weather","arguments":{"city":"Rome"}}}],[{"text":"Cold and warm."}]]`

// Tools of the caller park the turn, and the next request goes on with it: in the same session and turn, also after the
// server was killed in between.
func TestChatTools(t *testing.T) { onEach(t, chatTools) }

func chatTools(t *testing.T, at place) {
	s := startAt(t, at)
	const model = "sim/script"
	more := map[string]any{"tools": weather, "tool_choice": "auto"}
	asked := s.chat(model, said{user(askWeather)}, more)
	if asked.status != http.StatusOK || asked.Choices[0].FinishReason != "tool_calls" ||
		asked.text() != "Let me look." {
		t.Fatalf("the calls came as %+v", asked)
	}
	calls := asked.Choices[0].Message.ToolCalls
	if len(calls) != 2 || calls[0].ID == calls[1].ID || calls[1].Function.Name != "weather" ||
		calls[1].Type != "function" ||
		calls[1].Function.Arguments != `{"city":"Rome"}` {
		t.Fatalf("the calls are %+v", calls)
	}
	s.kill()
	s = startAt(t, at)
	history := said{user(askWeather), {"role": "assistant", "content": "Let me look.", "tool_calls": calls}}
	result := func(id, text string) map[string]any {
		return map[string]any{"role": "tool", "tool_call_id": id, "content": text}
	}
	partly := s.chat(model, append(history[:2:2], result(calls[0].ID, "-3")), more)
	if partly.session != asked.session || len(partly.Choices) != 1 || partly.Choices[0].FinishReason != "tool_calls" ||
		len(partly.Choices[0].Message.ToolCalls) != 1 || partly.Choices[0].Message.ToolCalls[0].ID != calls[1].ID {
		t.Errorf("one of two results got %+v; want the other call again", partly)
	}
	rest := said{
		user(askWeather), {"role": "assistant", "content": "Let me look.", "tool_calls": calls},
		result(calls[0].ID, "-3"), {"role": "assistant", "content": "", "tool_calls": calls[1:]},
		result(calls[1].ID, "31"),
	}
	end := s.chat(model, rest, more)
	if end.text() != "Cold and warm." || end.session != asked.session || end.Choices[0].FinishReason != "stop" {
		t.Errorf("all results got %+v; want the end in session %s", end, asked.session)
	}
	again := s.chat(model, append(history[:2:2], result(calls[0].ID, "5"), result(calls[1].ID, "6")), more)
	if again.status != http.StatusOK || again.session == asked.session {
		t.Errorf("other results of calls that are answered got status %d in %s", again.status, again.session)
	}
}

// A turn of more messages than a page holds is answered whole: the agent called its own tools again and again.
func TestChatLongTurns(t *testing.T) { onEach(t, chatLongTurns) }

func chatLongTurns(t *testing.T, at place) {
	s := startAt(t, at)
	const calls = parley.MaxPage/2 + 10 // each has a result
	tools, limits := []parley.ToolRef{{Name: "current_time"}}, parley.Limits{MaxToolCalls: new(calls)}
	if _, err := s.client.CreateAgent(t.Context(), client.AgentInput{
		Name: "Watch", Settings: parley.Settings{Model: "sim/script", Tools: &tools, Limits: &limits},
	}); err != nil {
		t.Fatal(err)
	}
	looks := strings.Repeat(`,{"tool_call":{"name":"current_time","arguments":{}}}`, calls)
	ask := `[[{"text":"Let me look."}` + looks + `],[{"text":"It is late."}]]`
	const want = "Let me look.\n\nIt is late."
	told := s.chat("watch", said{user(ask)}, nil)
	if told.text() != want || told.Choices[0].FinishReason != "stop" {
		t.Fatalf("status %d, %q, %+v; want %q", told.status, told.text(), told.Error, want)
	}
	on := s.chat("watch", said{user(ask), assistant(want), user(`[[{"text":"Good night."}]]`)}, nil)
	if on.text() != "Good night." || on.session != told.session {
		t.Errorf("it went on with %q in %s, want %s", on.text(), on.session, told.session)
	}
}

// A server that is killed knows every history when it is back, also one whose answer it had not ended.
func TestChatAfterAKill(t *testing.T) { onEach(t, chatAfterAKill) }

func chatAfterAKill(t *testing.T, at place) {
	s := startAt(t, at)
	const model = "sim/lorem-40-50"
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	request := s.chatRequest(ctx, model, said{user("tell")}, map[string]any{"stream": true}, "Idempotency-Key", "tell")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	session := response.Header.Get("X-Parley-Session")
	lines := bufio.NewScanner(response.Body)
	for heard := 0; heard < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			heard++
		}
	}
	s.kill()
	_ = response.Body.Close()
	s = startAt(t, at)
	told := s.chat(model, said{user("tell")}, nil, "Idempotency-Key", "nobody knows")
	if told.session == session || told.text() == "" {
		t.Errorf("a new request got %q in %s", told.text(), told.session)
	}
	// The turn went on by itself; its answer is known although nobody heard it.
	answer := s.answerOf(session)
	on := s.chat(model, said{user("tell"), assistant(answer), user("more")}, nil)
	if on.status != http.StatusOK || on.session != session && answer != told.text() {
		t.Errorf("the history of the killed server went on in %s, want %s", on.session, session)
	}
}

// answerOf waits for a session to rest and returns its last text.
func (s *server) answerOf(session string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), turnDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		s.url+"/v1/sessions/"+session+"/events",
		http.NoBody,
	)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	events.Buffer(nil, 1<<20)
	for status := ""; status != "completed"; { // the end of an earlier turn is replayed, too
		if !events.Scan() {
			s.t.Fatalf("the session's last status was %q: %v", status, events.Err())
		}
		if strings.HasPrefix(events.Text(), "event: ") {
			var got struct{ Status string }
			s.get("/v1/sessions/"+session, &got)
			status = got.Status
		}
	}
	var page struct {
		Data []struct {
			Role, Status string
			Content      struct{ Text string }
		}
	}
	s.get("/v1/sessions/"+session+"/messages", &page)
	for i := len(page.Data) - 1; i >= 0; i-- {
		if m := page.Data[i]; m.Role == "assistant" && m.Status == "completed" {
			return m.Content.Text
		}
	}
	s.t.Fatalf("session %s has no answer", session)
	return ""
}

// What cannot be done is refused in the protocol's shape; a turn that fails, or waits for a person, says so.
func TestChatErrors(t *testing.T) { onEach(t, chatErrors) }

func chatErrors(t *testing.T, at place) {
	s := startAt(t, at)
	for _, c := range []struct {
		name     string
		model    string
		messages said
		more     map[string]any
		status   int
		param    string
		code     string
	}{
		{"no such agent", "nobody", said{user("x")}, nil, 404, "model", "model_not_found"},
		{"several answers", "sim/echo", said{user("x")}, map[string]any{"n": 2}, 400, "n", "invalid"},
		{"an unknown parameter", "sim/echo", said{user("x")}, map[string]any{"top_k": 1}, 400, "top_k", "invalid"},
		{"a parameter in capitals", "sim/echo", said{user("x")}, map[string]any{"Seed": 1}, 400, "Seed", "invalid"},
		{"a bad value", "sim/echo", said{user("x")}, map[string]any{"temperature": 9}, 400, "temperature", "invalid"},
		{"logprobs", "sim/echo", said{user("x")}, map[string]any{"logprobs": true}, 400, "logprobs", "invalid"},
		{"nothing new", "sim/echo", said{user("x"), assistant("y")}, nil, 400, "messages", "invalid"},
		{"no message", "sim/echo", said{}, nil, 400, "messages", "invalid"},
		{"a result of nothing", "sim/echo", said{user("x"), {"role": "tool", "tool_call_id": "z", "content": "1"}},
			nil, 409, "", "conflict"},
		{"an image of nothing", "sim/echo", said{{"role": "user", "content": []map[string]any{
			{"type": "image_url", "image_url": map[string]any{"url": "file:///etc/passwd"}}}}},
			nil, 400, "messages[0].content[0].image_url", "invalid"},
		{"a turn that fails", "sim/fail-auth-9", said{user("x")}, nil, 502, "", "auth"},
		{"a refusing provider", "sim/fail-content_filter-9", said{user("x")}, nil, 400, "", "content_filter"},
	} {
		got := s.chat(c.model, c.messages, c.more)
		param := ""
		if got.Error != nil && got.Error.Param != nil {
			param = *got.Error.Param
		}
		if got.status != c.status || got.Error == nil || param != c.param || got.code() != c.code ||
			got.Error.Message == "" {
			t.Errorf("%s: status %d, param %q, %+v; want %d, %q, %q", c.name, got.status, param, got.Error, c.status,
				c.param, c.code)
		}
	}
	if got := s.chat("sim/echo", said{user("x")}, nil, "X-Parley-Session", "none"); got.status != 400 {
		t.Errorf("no session: status %d", got.status)
	}
	if got := s.chat("sim/echo", said{user("x")}, nil, "Authorization", "Bearer pk_wrong"); got.status != 200 {
		t.Errorf("without keys the connection counts: status %d", got.status)
	}
	pixel := "data:image/png;base64," +
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ" +
		"RU5ErkJggg=="
	seen := s.chat("sim/echo", said{{"role": "user", "content": []map[string]any{
		{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": map[string]any{"url": pixel}},
	}}}, map[string]any{"max_completion_tokens": 50, "stop": "END", "metadata": map[string]string{"a": "b"}})
	if seen.status != http.StatusOK {
		t.Errorf("an image: %+v", seen)
	}
	var page struct {
		Data []struct {
			Content struct {
				Parts []struct{ Type string }
			}
		}
	}
	s.get("/v1/sessions/"+seen.session+"/messages", &page)
	if len(page.Data) == 0 || fmt.Sprint(page.Data[0].Content.Parts) != "[{text} {image}]" {
		t.Errorf("the record has %+v", page.Data)
	}
}

// A client that goes away stops no turn.
func TestChatGoesOnAlone(t *testing.T) { onEach(t, chatGoesOnAlone) }

func chatGoesOnAlone(t *testing.T, at place) {
	s := startAt(t, at)
	for _, stream := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
		request := s.chatRequest(ctx, "sim/lorem-20-20", said{user("tell")}, map[string]any{"stream": stream})
		if !stream {
			time.AfterFunc(100*time.Millisecond, cancel) // in the middle of the turn
		}
		response, err := http.DefaultClient.Do(request)
		if stream {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := response.Body.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		} else if err == nil {
			t.Fatal("the turn was over before its client went away")
		}
		cancel()
		var list struct{ Data []struct{ ID string } }
		s.get("/v1/sessions?limit=1", &list)
		if len(list.Data) != 1 {
			t.Fatalf("sessions: %+v", list)
		}
		if text := s.answerOf(list.Data[0].ID); len(strings.Fields(text)) < 20 {
			t.Errorf("the answer broke off with its client: %q", text)
		}
	}
}

// Parley is a provider like any other: one that another Parley asks continues its own sessions.
func TestChatOfAnotherParley(t *testing.T) { onEach(t, chatOfAnotherParley) }

func chatOfAnotherParley(t *testing.T, at place) {
	far := startAt(t, at)
	near := startProgram(t, binary, place{dir: t.TempDir()}, []string{
		"OPENAI_BASE_URL=" + far.url + "/openai/v1", "OPENAI_API_KEY=" + far.key(),
	})
	const model = "openai/sim/reason"
	first := near.chat(model, said{user("one")}, nil)
	second := near.chat(model, said{user("one"), assistant(first.text()), user("two")}, nil)
	if first.text() == "" || second.text() == "" || second.session != first.session {
		t.Fatalf("the near server answered %+v and %+v", first, second)
	}
	var list struct {
		Data []struct {
			Statistics struct{ Messages int } `json:"statistics"`
		}
	}
	far.get("/v1/sessions", &list)
	if len(list.Data) != 1 || list.Data[0].Statistics.Messages != 4 {
		t.Errorf("the far server has %+v, want one session of four messages", list.Data)
	}
}

// chatClient is a program of the vendor's client, which says what it checked.
const chatClient = "clients/openai.mjs"

// The vendor's own client, unmodified, knows the server by address and key alone.
func TestOpenAIClient(t *testing.T) { onEach(t, openaiClient) }

func openaiClient(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, chatClient, key, "ask")
	s.kill() // in the middle of an answer that nobody waits for any more
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, chatClient, key, "reload")...)
	passes(t, "openai", map[string][]string{"openai": passed})
}

// clientChecks runs a phase of a program of e2e/clients and returns the names of the checks that passed. What a phase
// leaves for the next one stands in the server's directory.
func (s *server) clientChecks(t *testing.T, program, key, phase string, environment ...string) (passed []string) {
	t.Helper()
	environment = append(environment, "CHECKED_URL="+s.url, "CHECKED_KEY="+key, "PHASE="+phase,
		"STATE="+filepath.Join(s.at.dir, "client.json"))
	return checksIn(s.runClient(t, program, environment...))
}

// runClient runs a program of e2e/clients beside the packages that it imports, and returns what it printed.
func (s *server) runClient(t *testing.T, program string, environment ...string) string {
	t.Helper()
	run, said := clientProgram(t, program, environment...)
	var out bytes.Buffer
	run.Stdout = &out
	if err := run.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, &out, said)
	}
	return out.String()
}

// clientPackages is where the packages of e2e/clients are installed.
func clientPackages(t *testing.T) string {
	t.Helper()
	modules, err := filepath.Abs("../.cache/clients/node_modules")
	if err == nil {
		_, err = os.Stat(modules)
	}
	if err != nil {
		t.Fatalf("%v: the packages of e2e/clients are installed by `make e2e`", err)
	}
	return modules
}

// clientProgram prepares a run of a program of e2e/clients, within a deadline. said gets its standard error.
func clientProgram(t *testing.T, program string, environment ...string) (run *exec.Cmd, said *lockedBuffer) {
	t.Helper()
	modules := clientPackages(t)
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, filepath.Base(program))
	if err = os.Symlink(modules, filepath.Join(dir, "node_modules")); err == nil {
		err = os.WriteFile(copied, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*turnDeadline)
	t.Cleanup(cancel)
	run, said = exec.CommandContext(ctx, node(t), copied), &lockedBuffer{}
	run.Env, run.Stderr = append(cleanEnvironment(), environment...), said
	return run, said
}

// checksIn are the checks that a program's output says have passed.
func checksIn(out string) (passed []string) {
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "ok "); ok {
			passed = append(passed, name)
		}
	}
	return passed
}

// The program of docs/clients/openai.md is the one that runs here, and is short.
func TestOpenAIProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/openai.md", "clients/program.mjs",
		"PARLEY_OPENAI="+s.url+"/openai/v1", "MODEL=sim/echo")
}

// documentedProgram runs the program that a page shows, which asks two questions in one session.
func (s *server) documentedProgram(t *testing.T, page, program string, environment ...string) {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := bytes.ReplaceAll(text, []byte("'ai5'"), []byte("'ai'"))
	if !bytes.Contains(document, append(append([]byte("```js\n"), shown...), "```\n"...)) {
		t.Errorf("%s does not show %s", page, program)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 30 {
		t.Errorf("the program has %d lines, want at most 30", lines)
	}
	s.runClient(t, program, append(environment, "PARLEY_KEY="+s.key())...)
	var list struct{ Data []struct{ ID string } }
	s.get("/v1/sessions", &list)
	if len(list.Data) != 1 || s.messagesOf(list.Data[0].ID) != 4 {
		t.Errorf("the program left %+v, want one session of four messages", list.Data)
	}
}
