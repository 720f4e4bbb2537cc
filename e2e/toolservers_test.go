package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/client"
)

// authority is an authorization server and a server of tools behind it, of the protocol's own library.
type authority struct {
	url string

	mu       sync.Mutex
	asked    int                     // requests to the server of tools
	deployed []string                // what people answered
	codes    map[string]url.Values   // what each code was asked for with
	access   map[string]bool         // valid tokens
	refresh  map[string]bool         // valid, each for one use
	lies     func(answer url.Values) // changes what goes to the redirect address
	clients  int
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{codes: map[string]url.Values{}, access: map[string]bool{}, refresh: map[string]bool{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "deployer", Version: "1"}, nil)
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "deploy", Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false)}},
		a.deploy,
	)
	server.AddResource(&sdk.Resource{URI: "file:///handbook.md", Name: "Handbook", MIMEType: "text/markdown"},
		func(_ context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
				{URI: request.Params.URI, Text: "Deploy on Tuesdays."},
			}}, nil
		})
	tools := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.mu.Lock()
		a.asked++
		valid := a.access[token]
		a.mu.Unlock()
		if !valid {
			w.Header().Set("WWW-Authenticate",
				`Bearer resource_metadata="`+a.url+`/.well-known/oauth-protected-resource/mcp", scope="deploy"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	says := func(path string, answer func() map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer())
		})
	}
	says("/.well-known/oauth-protected-resource/mcp", func() map[string]any {
		return map[string]any{"resource": a.url + "/mcp", "authorization_servers": []string{a.url}}
	})
	says("/.well-known/oauth-authorization-server", func() map[string]any {
		return map[string]any{"issuer": a.url, "authorization_endpoint": a.url + "/authorize",
			"token_endpoint": a.url + "/token", "registration_endpoint": a.url + "/register",
			"code_challenge_methods_supported":               []string{"S256"},
			"authorization_response_iss_parameter_supported": true}
	})
	says("/register", func() map[string]any {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.clients++
		return map[string]any{"client_id": "registered"}
	})
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	a.url = web.URL
	return a
}

// authorize is the page where a person agrees, which this one does at once.
func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	query := r.URL.Query()
	code := rand.Text()
	a.codes[code] = query
	answer := url.Values{"code": {code}, "state": query["state"], "iss": {a.url}}
	if a.lies != nil {
		a.lies(answer)
	}
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	good := r.FormValue("resource") == a.url+"/mcp" && r.FormValue("client_id") == "registered"
	switch r.FormValue("grant_type") {
	case "authorization_code":
		asked := a.codes[r.FormValue("code")]
		delete(a.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		good = good && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
			asked.Get("redirect_uri") == r.FormValue("redirect_uri") && asked.Get("scope") == "deploy"
	case "refresh_token":
		good = good && a.refresh[r.FormValue("refresh_token")]
		delete(a.refresh, r.FormValue("refresh_token"))
	default:
		good = false
	}
	w.Header().Set("Content-Type", "application/json")
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.access[access], a.refresh[refresh] = true, true
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600,
	})
}

// deploy asks a person, and then tells what they said.
func (a *authority) deploy(
	_ context.Context,
	request *sdk.CallToolRequest,
	_ struct{},
) (*sdk.CallToolResult, any, error) {
	said, ok := request.Params.InputResponses["confirm"].(*sdk.ElicitResult)
	if !ok {
		return &sdk.CallToolResult{RequestState: "deployment 7", InputRequests: sdk.InputRequestMap{
			"confirm": &sdk.ElicitParams{Message: "Deploy where?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"where":{"type":"string","enum":["test","live"]}},` +
					`"required":["where"]}`,
			)},
		}}, nil, nil
	}
	where, _ := said.Content["where"].(string)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deployed = append(a.deployed, said.Action+" "+where+" "+request.Params.RequestState)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said.Action + " " + where}}}, nil, nil
}

// look reads something under the lock.
func look[T any](a *authority, what func() T) T {
	a.mu.Lock()
	defer a.mu.Unlock()
	return what()
}

// authorizes runs the command as a person with a browser does.
func (a *authority) authorizes(t *testing.T, at place, more ...string) error {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnDeadline)
	defer stop()
	command := exec.CommandContext(
		ctx,
		binary,
		append([]string{"tool-servers", "authorize", "cloud", "--data", at.dir}, more...)...)
	command.Env = at.environment()
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), a.url) {
			continue
		}
		answer, err := http.Get(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if err := command.Wait(); err != nil {
		return &exec.Error{Name: "authorize", Err: parley.Errorf(parley.CodeConflict, "%s", said.String())}
	}
	return nil
}

// toolServer waits until the server of tools is in a state.
func (s *server) toolServer(t *testing.T, state parley.ToolServerState) parley.ToolServer {
	t.Helper()
	deadline, tick := time.After(turnDeadline), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		page, err := s.client.ToolServers(t.Context(), client.ToolServersQuery{})
		if err != nil || len(page.Data) != 1 {
			t.Fatalf("tool servers: %v, %v", page.Data, err)
		}
		if page.Data[0].State == state {
			return page.Data[0]
		}
		select {
		case <-deadline:
			t.Fatalf("it is %+v, not %s", page.Data[0], state)
		case <-tick.C:
		}
	}
}

// A server that wants OAuth is unauthorized until a person authorizes it for the workspace; then its tools work, also
// for what they ask people, through a kill of the process, and with tokens that are renewed.
func TestToolServersAreAuthorized(t *testing.T) { onEach(t, toolServersAuthorized) }

func toolServersAuthorized(t *testing.T, at place) {
	a := newAuthority(t)
	configured(t, at, map[string]any{"mcp": []any{map[string]any{
		"name": "cloud", "url": a.url + "/mcp", "allow_private": true, "oauth": map[string]any{},
	}}})
	s := startAt(t, at)
	if found := s.toolServer(t, parley.ToolServerUnauthorized); !found.Authorizable || found.AuthorizedBy != nil ||
		!strings.Contains(parley.ValueOf(found.Do), "parley tool-servers authorize cloud") {
		t.Errorf("unauthorized: %+v", found)
	}
	if n := look(a, func() int { return a.asked }); n != 0 {
		t.Errorf("%d requests without a token", n)
	}
	out, _, _ := at.parley(t, "doctor")
	if !strings.Contains(out, "parley tool-servers authorize cloud") {
		t.Errorf("doctor says nothing of it:\n%s", out)
	}

	a.refuses(t, at)
	if err := a.authorizes(t, at); err != nil {
		t.Fatal(err)
	}
	if found := s.toolServer(t, parley.ToolServerConnected); found.AuthorizedBy == nil || found.Tools != 3 {
		t.Errorf("authorized: %+v", found)
	}
	a.sealed(t, at)
	agent := client.AgentInput{Name: "Deployer", Settings: parley.Settings{
		Model: "sim/script", Tools: new(client.ToolNames("cloud__*")),
	}}
	if _, err := s.client.CreateAgent(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	readsResources(t, s, at)
	s = a.survives(t, s, at)
	a.renewed(t, s)
	a.ends(t, s)
}

// refuses tries answers that are not those of the authorization server.
func (a *authority) refuses(t *testing.T, at place) {
	t.Helper()
	for name, lie := range map[string]func(url.Values){
		"access_denied":                func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") },
		"another authorization server": func(v url.Values) { v.Set("iss", "https://evil.example.com") },
		"invalid_grant":                func(v url.Values) { v.Set("code", "stolen") },
	} {
		look(a, func() any { a.lies = lie; return nil })
		if err := a.authorizes(t, at); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	look(a, func() any { a.lies = nil; return nil })
}

// sealed requires that no token is in the files of the data directory.
func (a *authority) sealed(t *testing.T, at place) {
	t.Helper()
	secrets := look(a, func() map[string]bool {
		all := maps.Clone(a.access)
		maps.Copy(all, a.refresh)
		return all
	})
	files, err := filepath.Glob(filepath.Join(at.dir, "*"))
	if err != nil || len(secrets) == 0 {
		t.Fatal(err, secrets)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // a directory
		}
		for secret := range secrets {
			if bytes.Contains(raw, []byte(secret)) {
				t.Errorf("%s has a token", file)
			}
		}
	}
}

// readsResources has an agent read a resource, and a person show it to one as a file.
func readsResources(t *testing.T, s *server, at place) {
	t.Helper()
	asks := func(name, arguments string) string {
		return fmt.Sprintf(`[[{"tool_call":{"name":"cloud__%s","arguments":%s}}],[{"text":"Read."}]]`, name, arguments)
	}
	const uri = "file:///handbook.md"
	for tool, arguments := range map[string]string{"list_resources": `{}`, "read_resource": `{"uri":"` + uri + `"}`} {
		session := s.post(t, "deployer", asks(tool, arguments))
		awaitEvent(t, s.client, session.ID, parley.EventSessionCompleted)
		page, err := s.client.Messages(t.Context(), session.ID, client.MessagesQuery{})
		said, _ := json.Marshal(page.Data)
		want := map[string]string{"list_resources": "Handbook", "read_resource": "Deploy on Tuesdays."}[tool]
		if err != nil || !bytes.Contains(said, []byte(want)) {
			t.Errorf("%s: %v, %s", tool, err, said)
		}
	}
	if out, _, err := at.parley(t, "tool-servers", "resources", "cloud"); err != nil || !strings.Contains(out, uri) {
		t.Errorf("resources: %v\n%s", err, out)
	}
	out, _, err := at.parley(t, "tool-servers", "attach", "cloud", uri, "--json")
	var file parley.File
	if err != nil || json.Unmarshal([]byte(out), &file) != nil || file.Name != "handbook.md" {
		t.Fatalf("attach: %v\n%s", err, out)
	}
	session := s.post(t, "deployer", `[[{"text":"Seen."}]]`)
	if _, err := s.client.PostMessage(t.Context(), session.ID, client.MessageInput{
		Content: json.RawMessage(`{"text":"[[{\"text\":\"Seen.\"}]]","files":["` + file.ID.String() + `"]}`),
	}); err != nil {
		t.Errorf("a message with the file: %v", err)
	}
}

// survives kills the server while a person thinks.
func (a *authority) survives(t *testing.T, s *server, at place) *server {
	t.Helper()
	session := s.post(t, "deployer", callScript("cloud__deploy"))
	asked := waiting(t, s.client, session.ID)
	if len(asked) != 1 || asked[0].Reason != parley.AskedByTool || asked[0].Question == nil ||
		asked[0].Question.Message != "Deploy where?" {
		t.Fatalf("asked: %+v", asked)
	}
	s.kill()
	s = startAt(t, at)
	s.toolServer(t, parley.ToolServerConnected)
	for _, wrong := range []string{``, `{"where":"nowhere"}`, `[]`} {
		_, err := s.client.DecideApproval(t.Context(), asked[0].ID,
			client.DecisionInput{Decision: parley.DecideApprove, Answer: json.RawMessage(wrong)})
		if parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("the answer %q: %v", wrong, err)
		}
	}
	if _, err := s.client.DecideApproval(t.Context(), asked[0].ID,
		client.DecisionInput{Decision: parley.DecideApprove, Answer: json.RawMessage(`{"where":"live"}`)}); err != nil {
		t.Fatal(err)
	}
	s.ended(t, session.ID, "")
	a.heard(t, "accept live deployment 7")
	return s
}

// ended waits for the end of a turn with one result.
func (s *server) ended(t *testing.T, session parley.ID, want string) {
	t.Helper()
	awaitEvent(t, s.client, session, parley.EventSessionCompleted)
	if got := results(
		t,
		s.client,
		session,
	); len(got) != 1 || !strings.Contains(got[0], want) ||
		want == "" && got[0] != "" {
		t.Errorf("results: %q, not %q", got, want)
	}
}

func awaitEvent(t *testing.T, c *client.Client, session parley.ID, kind parley.EventType) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range c.WatchSession(ctx, session, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == kind {
			return
		}
	}
	t.Fatalf("no %s came", kind)
}

// heard requires what the tool was told last, once.
func (a *authority) heard(t *testing.T, want ...string) {
	t.Helper()
	got := look(a, func() []string { said := a.deployed; a.deployed = nil; return said })
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the tool heard %q, not %q", got, want)
	}
}

// renewed ends the tokens' lives early, and declines.
func (a *authority) renewed(t *testing.T, s *server) {
	t.Helper()
	look(a, func() any { clear(a.access); return nil })
	session := s.post(t, "deployer", callScript("cloud__deploy"))
	asked := waiting(t, s.client, session.ID)
	if len(asked) != 1 {
		t.Fatalf("asked: %+v", asked)
	}
	if _, err := s.client.DecideApproval(t.Context(), asked[0].ID,
		client.DecisionInput{Decision: parley.DecideDeny}); err != nil {
		t.Fatal(err)
	}
	s.ended(t, session.ID, "")
	a.heard(t, "decline  deployment 7")
}

// ends ends the authorization at the authorization server.
func (a *authority) ends(t *testing.T, s *server) {
	t.Helper()
	look(a, func() any { clear(a.access); clear(a.refresh); return nil })
	session := s.post(t, "deployer", callScript("cloud__deploy"))
	s.ended(t, session.ID, "until a person has authorized it")
	s.toolServer(t, parley.ToolServerUnauthorized)
	before := look(a, func() int { return a.asked })
	again := s.post(t, "deployer", callScript("cloud__deploy"))
	s.ended(t, again.ID, "until a person has authorized it")
	if after := look(a, func() int { return a.asked }); after != before {
		t.Errorf("%d requests after nobody was let in", after-before)
	}
	if err := s.client.ForgetToolServerAuthorization(t.Context(), "cloud"); err != nil {
		t.Fatal(err)
	}
	if found := s.toolServer(t, parley.ToolServerUnauthorized); found.AuthorizedBy != nil {
		t.Errorf("forgotten: %+v", found)
	}
}
