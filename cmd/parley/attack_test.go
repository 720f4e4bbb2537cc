package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// estate is a home with the server's data in it, as it is by default, secrets beside
// that, and a directory of work.
type estate struct {
	*testing.T
	base, home, data, work string
	url, member, local     string // who asks
}

const (
	sshSecret = "secret-of-the-ssh-key"
	envSecret = "secret-of-the-environment"
	yamlLine  = "log_level: warn # settings-of-the-server\n"
)

func newEstate(t *testing.T) *estate {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &estate{T: t, base: base, home: filepath.Join(base, "home")}
	e.data, e.work = filepath.Join(e.home, ".local", "share", "parley"), filepath.Join(e.home, "work")
	for _, dir := range []string{e.data, filepath.Join(e.home, ".ssh"), filepath.Join(e.work, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(e.home, ".ssh", "id_rsa"), sshSecret)
	writeFile(t, filepath.Join(e.work, ".env"), envSecret)
	writeFile(t, filepath.Join(e.work, "readme.md"), "what everybody may read")
	writeFile(t, filepath.Join(e.data, settingsFile), yamlLine)
	t.Setenv("HOME", e.home)
	return e
}

// in has a subtest fail instead of the test until what it returns is called.
func (e *estate) in(t *testing.T) (over func()) {
	outer := e.T
	e.T = t
	return func() { e.T = outer }
}

// open starts a server on the estate, with a member's key.
func (e *estate) open(name string, env map[string]string) (*server, func()) {
	e.Helper()
	srv, c := opened(e.T, e.data, env, io.Discard)
	token, err := localToken(e.data)
	if err == nil {
		var made client.NewKey
		made, err = c.CreateKey(e.Context(), client.KeyInput{Name: name, Role: parley.RoleMember})
		e.member = made.Secret
	}
	if err != nil {
		e.Fatal(errors.Join(err, srv.close()))
	}
	e.url, e.local = c.URL(), token
	return srv, func() {
		c.Close()
		if err := srv.close(); err != nil {
			e.Error(err)
		}
	}
}

// ask sends a request of a key and reads the answer whole: a stream to its end.
func (e *estate) ask(key, method, path, body string) (int, string) {
	e.Helper()
	ctx, stop := context.WithTimeout(e.Context(), turnTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, method, e.url+path, strings.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	if strings.HasPrefix(key, "ps_") {
		request.Header.Set("Cookie", "parley_sign_in="+key)
	} else {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	request.Header.Set("Content-Type", "application/json")
	if strings.Contains(path, "/files?") {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	if strings.HasSuffix(path, "/messages") {
		request.Header.Set("Accept", "text/event-stream")
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	read, err := io.ReadAll(response.Body)
	if err != nil {
		e.Fatal(err)
	}
	return response.StatusCode, string(read)
}

// signedIn is what the cookie of a browser that signed in with a key holds.
func (e *estate) signedIn(key string) string {
	e.Helper()
	request, err := http.NewRequestWithContext(
		e.Context(),
		http.MethodPost,
		e.url+"/v1/sign-in",
		strings.NewReader(fmt.Sprintf(`{"key":%q}`, key)),
	)
	if err != nil {
		e.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // unread
	for _, cookie := range response.Cookies() {
		if strings.HasPrefix(cookie.Value, "ps_") {
			return cookie.Value
		}
	}
	e.Fatalf("signing in: %s, no cookie", response.Status)
	return ""
}

func (e *estate) made(key, path, body string) (id string) {
	e.Helper()
	status, answer := e.ask(key, http.MethodPost, path, body)
	var thing struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(answer), &thing); err != nil || status != http.StatusCreated {
		e.Fatalf("POST %s %s: %d %s %v", path, body, status, answer, err)
	}
	return thing.ID
}

// toolCall is one that the simulator is told to make.
type toolCall struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// calls has an agent make tool calls in a project, as the member, and gives their
// results in the calls' order.
func (e *estate) calls(project string, calls ...toolCall) []string {
	e.Helper()
	session := e.made(
		e.member,
		"/v1/sessions",
		fmt.Sprintf(
			`{"project_id":%q,"model":"sim/script","tools":["read_file","write_file","list_files","search_files"],`+
				`"grants":[{"tool":"write_file","effect":"allow"}]}`,
			project,
		),
	)
	type answer struct {
		ToolCall *toolCall `json:"tool_call,omitempty"`
		Text     string    `json:"text,omitempty"`
	}
	var script [][]answer
	for i := range calls { // a step each, so that the results come in order
		script = append(script, []answer{{ToolCall: &calls[i]}})
	}
	text, err := json.Marshal(append(script, []answer{{Text: "done"}}))
	if err != nil {
		e.Fatal(err)
	}
	message, err := json.Marshal(map[string]map[string]string{"content": {"text": string(text)}})
	if err != nil {
		e.Fatal(err)
	}
	if status, answer := e.ask(
		e.member,
		http.MethodPost,
		"/v1/sessions/"+session+"/messages",
		string(message),
	); status/100 != 2 {
		e.Fatalf("the message: %d %s", status, answer)
	}
	_, answered := e.ask(e.member, http.MethodGet, "/v1/sessions/"+session+"/messages?role=tool_result", "")
	var page struct {
		Data []struct {
			Content json.RawMessage `json:"content"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(answered), &page); err != nil || len(page.Data) != len(calls) {
		e.Fatalf("%d results of %d calls: %s %v", len(page.Data), len(calls), answered, err)
	}
	results := make([]string, len(calls))
	for i := range page.Data {
		results[i] = string(page.Data[i].Content)
	}
	return results
}

// TestAMemberReachesNothingOfTheServers is an attack that once made an admin of a
// member: a project of the home, and the server's token read by a tool.
func TestAMemberReachesNothingOfTheServers(t *testing.T) { //nolint:paralleltest // it sets HOME
	e := newEstate(t)
	old := map[string]parley.ID{}
	t.Run("without roots only the machine's own user chooses", func(t *testing.T) { //nolint:paralleltest // as above
		defer e.in(t)()
		srv, end := e.open("first", nil)
		defer end()
		for _, path := range []string{e.home, e.work, e.data, "/"} {
			if status, answer := e.ask(
				e.member,
				http.MethodPost,
				"/v1/projects",
				fmt.Sprintf(`{"path":%q}`, path),
			); status != http.StatusForbidden {
				t.Errorf("a member chose %s: %d %s", path, status, answer)
			}
		}
		if status, answer := e.ask(e.member, http.MethodGet, "/v1/directories", ""); status != http.StatusForbidden {
			t.Errorf("a member listed directories: %d %s", status, answer)
		}
		if status, answer := e.ask(
			e.signedIn(e.member),
			http.MethodGet,
			"/v1/directories",
			"",
		); status != http.StatusForbidden {
			t.Errorf("a member's browser listed directories: %d %s", status, answer)
		}
		if status, answer := e.ask(
			e.signedIn(e.local),
			http.MethodGet,
			"/v1/directories",
			"",
		); status != http.StatusOK {
			t.Errorf("the machine's own user's browser could not list directories: %d %s", status, answer)
		}
		e.refusesToChoose(t, e.local)
		if status, answer := e.ask(
			e.local,
			http.MethodPost,
			"/v1/projects",
			fmt.Sprintf(`{"path":%q}`, e.work),
		); status != http.StatusCreated {
			t.Errorf("the machine's own user could not choose its work: %d %s", status, answer)
		}
		// What a release before this one let in.
		workspace, err := srv.store.Workspace(t.Context(), parley.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/etc", "/proc/self", e.base, e.home, e.data, filepath.Dir(e.data),
			filepath.Join(e.home, ".ssh"), filepath.Join(e.work, ".git")} {
			project, _, err := srv.store.ChooseProject(
				t.Context(),
				parley.Project{ID: parley.NewID(), WorkspaceID: workspace, Path: path, Name: "old"},
			)
			if err != nil {
				t.Fatal(err)
			}
			old[path] = project.ID
		}
	})
	_, end := e.open("second", map[string]string{"PARLEY_PROJECT_ROOTS": e.home})
	defer end()
	t.Run("with roots nothing of the server is chosen or listed", func(t *testing.T) { //nolint:paralleltest // as above
		defer e.in(t)()
		e.refusesToChoose(t, e.member)
	})
	t.Run("nor opened where it was chosen before", func(t *testing.T) { //nolint:paralleltest // as above
		defer e.in(t)()
		for path, project := range old {
			for _, result := range e.calls(project.String(),
				toolCall{"read_file", map[string]string{
					"path": strings.TrimPrefix(strings.TrimPrefix(filepath.Join(e.data, tokenFile), path), "/")}},
				toolCall{"read_file", map[string]string{"path": "id_rsa"}},
				toolCall{"read_file", map[string]string{"path": "environ"}},
				toolCall{"list_files", map[string]string{"path": "."}},
				toolCall{"search_files", map[string]string{"pattern": "."}},
				toolCall{"write_file", map[string]string{"path": settingsFile, "text": "taken"}},
			) {
				e.refused(path, result)
			}
		}
	})
	t.Run("nor reached from a project beside it", e.attackFromWork) //nolint:paralleltest // as above
}

// refusesToChoose asks for every place that may not be a project.
func (e *estate) refusesToChoose(t *testing.T, key string) {
	for name, target := range map[string]string{"to-data": e.data, "to-ssh": filepath.Join(e.home, ".ssh"),
		"to-home": e.home} {
		if err := os.Symlink(target, filepath.Join(e.work, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"/", "/etc", "/etc/ssl", "/run", "/proc", "/proc/self", "/sys", "/dev", e.base, e.home, e.home + "/", e.data,
		filepath.Dir(e.data),
		filepath.Join(e.home, ".local"), filepath.Join(e.home, ".ssh"), e.work + "/../.ssh",
		filepath.Join(e.work, ".git"),
		filepath.Join(e.work, "to-data"), filepath.Join(e.work, "to-ssh"), filepath.Join(e.work, "to-home"),
		filepath.Join(e.work, "to-home", ".ssh"),
	} {
		if status, answer := e.ask(
			key,
			http.MethodPost,
			"/v1/projects",
			fmt.Sprintf(`{"path":%q}`, path),
		); status != http.StatusUnprocessableEntity {
			t.Errorf("%s could be chosen: %d %s", path, status, answer)
		}
	}
	for _, path := range []string{e.data, filepath.Dir(e.data), filepath.Join(e.home, ".ssh"), "/etc",
		filepath.Join(e.work, "to-data"), filepath.Join(e.work, ".git")} {
		if status, answer := e.ask(
			key,
			http.MethodGet,
			"/v1/directories?hidden=true&path="+path,
			"",
		); status != http.StatusNotFound {
			t.Errorf("%s could be listed: %d %s", path, status, answer)
		}
	}
	if _, answer := e.ask(
		key,
		http.MethodGet,
		"/v1/directories?hidden=true&path="+e.home,
		"",
	); strings.Contains(answer, ".ssh") ||
		!strings.Contains(answer, e.work) {
		t.Errorf("the home: %s", answer)
	}
}

// attackFromWork tries everything from a project that the member may have.
func (e *estate) attackFromWork(t *testing.T) {
	defer e.in(t)()
	for name, file := range map[string]string{"token.txt": tokenFile, "settings.txt": settingsFile,
		"database.txt": "parley.db"} {
		if err := os.Link(filepath.Join(e.data, file), filepath.Join(e.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"link.txt": "../.local/share/parley/" + tokenFile, "dotenv.txt": ".env", "hooks": ".git",
		"settings-link.txt": "settings.txt",
	} {
		if err := os.Symlink(target, filepath.Join(e.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	status, answer := e.ask(e.member, http.MethodPost, "/v1/projects", fmt.Sprintf(`{"path":%q}`, e.work))
	var project parley.Project
	if err := json.Unmarshal([]byte(answer), &project); err != nil || status != http.StatusOK {
		t.Fatalf("the member's project: %d %s", status, answer)
	}
	read := func(path string) toolCall { return toolCall{"read_file", map[string]string{"path": path}} }
	write := func(path string) toolCall {
		return toolCall{"write_file", map[string]string{"path": path, "text": "mcp: [{name: x, command: taken}]"}}
	}
	tries := []toolCall{
		read(
			"token.txt",
		),
		read("settings.txt"),
		read("database.txt"),
		read("link.txt"),
		read("to-data/token"),
		read("to-home/.ssh/id_rsa"),
		read("to-ssh/id_rsa"),
		read(
			"../.ssh/id_rsa",
		),
		read(e.data + "/token"),
		read(".env"),
		read(".ENV"),
		read("dotenv.txt"),
		read("settings-link.txt"),
		read(".git/config"),
		write(
			"settings.txt",
		),
		write("settings-link.txt"),
		write("to-data/parley.yaml"),
		write("../.local/share/parley/parley.yaml"),
		write("link.txt"),
		write(
			".git/hooks/pre-commit",
		),
		write(".GIT/hooks/pre-commit"),
		write("hooks/post-commit"),
		write(".git/config"),
		write("sub/.git"),
		write(".env"),
		write("new/.ssh/authorized_keys"),
		{
			"list_files",
			map[string]string{"path": "to-data"},
		},
		{"list_files", map[string]string{"path": "to-ssh"}},
		{"search_files", map[string]string{"path": "to-home", "pattern": "."}},
	}
	for i, result := range e.calls(project.ID.String(), tries...) {
		e.refused(fmt.Sprint(tries[i]), result)
	}
	results := e.calls(
		project.ID.String(),
		read("readme.md"),
		toolCall{"search_files", map[string]string{"pattern": "."}},
		toolCall{"list_files", map[string]string{"path": "."}},
		write("notes.txt"),
	)
	if !strings.Contains(results[0], "everybody") || !strings.Contains(results[1], "everybody") ||
		!strings.Contains(results[3], `"created":true`) {
		t.Errorf("what is allowed: %q", results)
	}
	for _, result := range results {
		e.leaksNothing("what is allowed", result)
	}
	for _, name := range []string{".env", "token.txt"} {
		if strings.Contains(results[2], `"`+name+`"`) {
			t.Errorf("%s was listed: %s", name, results[2])
		}
	}
	for name, want := range map[string]string{filepath.Join(e.data, settingsFile): yamlLine,
		filepath.Join(e.work, ".env"): envSecret} {
		if is, err := os.ReadFile(name); err != nil || string(is) != want { //nolint:gosec // the test's own
			t.Errorf("%s holds %q, %v", name, is, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(e.work, ".git")); err != nil || len(entries) > 0 {
		t.Errorf("written in .git: %v, %v", entries, err)
	}
}

func (e *estate) refused(what, result string) {
	e.Helper()
	if !strings.Contains(result, `"success":false`) {
		e.Errorf("%s was let: %s", what, result)
	}
	e.leaksNothing(what, result)
}

func (e *estate) leaksNothing(what, result string) {
	e.Helper()
	for _, secret := range []string{e.local, sshSecret, envSecret, strings.TrimSpace(yamlLine), "SQLite format"} {
		if bytes.Contains([]byte(result), []byte(secret)) {
			e.Errorf("%s shows %q: %s", what, secret, result)
		}
	}
}
