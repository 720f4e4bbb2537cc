package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// TestCommandLine walks through the commands as the README does.
func TestCommandLine(t *testing.T) { onEach(t, commandLine) }

func commandLine(t *testing.T, at place) {
	must := func(args ...string) string {
		t.Helper()
		out, errOut, err := at.parley(t, args...)
		if err != nil {
			t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, errOut)
		}
		return out
	}
	if out := must("doctor"); !strings.Contains(out, "simulator") {
		t.Errorf("doctor does not say that the simulator answers:\n%s", out)
	}
	s := startAt(t, at)
	must("agents", "create", "Night Watch", "--system-prompt", "You keep watch.")
	if out := must("agents", "list"); !strings.Contains(out, "night-watch") || !strings.Contains(out, "parley") {
		t.Errorf("agents list:\n%s", out)
	}
	if out := must(
		"chat",
		"--agent",
		"night-watch",
		"--model",
		"sim/echo",
		"All",
		"is",
		"well.",
	); strings.TrimSpace(
		out,
	) != "All is well." {
		t.Errorf("chat said %q", out)
	}
	var page client.Page[parley.Session]
	if err := json.Unmarshal(
		[]byte(must("sessions", "list", "--json", "--agent", "night-watch")),
		&page,
	); err != nil ||
		len(page.Data) != 1 {
		t.Fatalf("sessions list: %v, %d sessions", err, len(page.Data))
	}
	sessions := page.Data
	id := sessions[0].ID.String()
	if sessions[0].Title != "All is well." {
		t.Errorf("the title is %q", sessions[0].Title)
	}
	if out := must("sessions", "show", id); !strings.Contains(out, "sim/echo (simulator)") {
		t.Errorf("sessions show does not label the simulator:\n%s", out)
	}
	file := filepath.Join(t.TempDir(), "export.json")
	must("sessions", "export", id, "-o", file)
	if read := must("sessions", "export", id, "--markdown"); !strings.HasPrefix(read, "# ") {
		t.Errorf("as Markdown it is %.80q", read)
	}
	var export struct {
		Messages []parley.Message
		Calls    []parley.Call
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &export); err != nil || len(export.Messages) != 2 || len(export.Calls) != 1 {
		t.Errorf("export: %v, %d messages, %d calls", err, len(export.Messages), len(export.Calls))
	}
	call := export.Calls[0].ID.String()
	if out := must(
		"calls",
		"list",
		id,
	); !strings.Contains(out, call) ||
		!strings.Contains(out, "sim/echo (simulator)") {
		t.Errorf("calls list:\n%s", out)
	}
	if out := must(
		"calls",
		"show",
		call,
	); !strings.Contains(out, "system") || !strings.Contains(out, "running turn") ||
		!strings.Contains(out, "window:") {
		t.Errorf("calls show:\n%s", out)
	}
	if out := must("calls", "show", call, "--request"); !strings.HasPrefix(out, `{"model":"echo"`) {
		t.Errorf("calls show --request:\n%s", out)
	}
	if out := must(
		"calls",
		"show",
		call,
		"--json",
	); !strings.Contains(out, `"parts"`) ||
		!strings.Contains(out, `"request_hash"`) {
		t.Errorf("calls show --json:\n%s", out)
	}
	if out := must("calls", "replay", call); !strings.Contains(out, "same request: true, same answer: true") {
		t.Errorf("calls replay:\n%s", out)
	}
	if out := must(
		"sessions",
		"context",
		id,
	); !strings.Contains(out, "policy") ||
		!strings.Contains(out, "#2 assistant") {
		t.Errorf("sessions context:\n%s", out)
	}
	if out := must(
		"sessions",
		"preview",
		id,
		"What",
		"next?",
	); !strings.Contains(out, "#3 user") ||
		!strings.Contains(out, "front of the last call") {
		t.Errorf("sessions preview:\n%s", out)
	}
	if out := must("calls", "diff", call); !strings.Contains(out, "the first call of the session") {
		t.Errorf("calls diff:\n%s", out)
	}
	if out := must("sessions", "tree", id); !strings.Contains(out, "night-watch") || !strings.Contains(out, "total") {
		t.Errorf("sessions tree:\n%s", out)
	}
	must("sessions", "delete", id)
	if _, errOut, err := at.parley(t, "sessions", "show", id); exitCode(err) != 1 || errOut == "" {
		t.Errorf("a deleted session is shown: %v %q", err, errOut)
	}
	if _, errOut, err := at.parley(t, "doctor"); err != nil {
		t.Errorf("doctor beside a running server: %v\n%s", err, errOut)
	}
	if at.database == "" {
		if _, errOut, err := at.parley(
			t,
			"serve",
			"--addr",
			"127.0.0.1:0",
		); exitCode(err) != 1 ||
			!strings.Contains(errOut, "in use by process") {
			t.Errorf("a second server on one directory must name the first: %v %q", err, errOut)
		}
	}
	s.terminate()
}

// TestKeys follows a key from its creation to its end.
func TestKeys(t *testing.T) { onEach(t, keys) }

func keys(t *testing.T, at place) {
	if _, errOut, err := at.parley(
		t,
		"serve",
		"--addr",
		"0.0.0.0:0",
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "keys create") {
		t.Fatalf("a server for all without a key must be refused: %v %q", err, errOut)
	}
	out, errOut, err := at.parley(t, "keys", "create", "--workspace", "acme", "--name", "ci", "--json")
	if err != nil {
		t.Fatalf("keys create with no server: %v\n%s", err, errOut)
	}
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Key == "" {
		t.Fatalf("keys create --json printed %q", out)
	}
	s := startAt(t, at)
	signInsEnd(t, at, s.url, made.Key)
	if _, errOut, err := at.parley(
		t,
		"--key",
		"no-such-key",
		"sessions",
		"list",
	); exitCode(err) != 1 ||
		strings.Contains(errOut, "no-such-key") {
		t.Errorf("a wrong key: %v %q", err, errOut)
	}
	if _, errOut, err := at.parley(t, "--key", made.Key, "agents", "create", "Acme Bot"); err != nil {
		t.Errorf("with the key: %v %q", err, errOut)
	}
	// The token file admits the machine's own user, who chooses the workspace.
	for workspace, wants := range map[string]bool{"acme": true, "default": false} {
		out, errOut, err := at.parley(t, "--workspace", workspace, "agents", "list")
		if err != nil || strings.Contains(out, "acme-bot") != wants {
			t.Errorf("agents of %s: %v %s\n%s", workspace, err, errOut, out)
		}
	}
	if out, errOut, err := at.parley(
		t,
		"--workspace",
		"acme",
		"agents",
		"give",
		"acme-bot",
		"--to-admins",
	); err != nil ||
		!strings.Contains(out, "(admins)") {
		t.Errorf("giving an agent to the admins: %v %s\n%s", err, errOut, out)
	}
	if _, _, err := at.parley(t, "--workspace", "acme", "agents", "give", "acme-bot"); exitCode(err) == 0 {
		t.Error("an agent lost its owner without a message")
	}
	anchored(t, at)
	if at.database != "" {
		return
	}
	raw, err := os.ReadFile(filepath.Join(at.dir, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	wal, _ := os.ReadFile(filepath.Join(at.dir, "parley.db-wal"))
	if strings.Contains(string(raw)+string(wal), made.Key) {
		t.Error("the key's secret is in the database")
	}
}

// signInsEnd signs a browser in with a key, and ends the sign-in from the terminal.
func signInsEnd(t *testing.T, at place, url, key string) {
	t.Helper()
	answer, err := http.Post(url+"/v1/sign-in", "application/json", strings.NewReader(`{"key":"`+key+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || len(answer.Cookies()) != 1 {
		t.Fatalf("sign in: status %d", answer.StatusCode)
	}
	list := func() []struct{ ID string } {
		var page client.Page[struct{ ID string }]
		out, errOut, err := at.parley(t, "--key", key, "keys", "sign-ins", "list", "--json")
		if err != nil || json.Unmarshal([]byte(out), &page) != nil {
			t.Fatalf("keys sign-ins list: %v %s\n%s", err, errOut, out)
		}
		return page.Data
	}
	found := list()
	if len(found) != 1 {
		t.Fatalf("%d sign-ins, want the browser's", len(found))
	}
	if out, errOut, err := at.parley(t, "--key", key, "keys", "sign-ins", "end", found[0].ID); err != nil || out != "" {
		t.Errorf("keys sign-ins end: %v %s %s", err, errOut, out)
	}
	if left := list(); len(left) != 0 {
		t.Errorf("%d sign-ins are left", len(left))
	}
}

// anchored waits until the audit's chain has an anchor to print; until then the command
// says that there is none yet.
func anchored(t *testing.T, at place) {
	t.Helper()
	for deadline := time.Now().Add(startDeadline); ; {
		out, errOut, err := at.parley(t, "audit", "--anchor")
		if regexp.MustCompile(`^\d+:[0-9a-f]+\n$`).MatchString(out) {
			return
		}
		if exitCode(err) != 1 || !strings.Contains(errOut, "no link yet") || time.Now().After(deadline) {
			t.Fatalf("the anchor: %v %s\n%q", err, errOut, out)
		}
	}
}
