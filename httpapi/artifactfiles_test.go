package httpapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// aPNG returns an image of a size.
func aPNG(t *testing.T, side int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fileBody is the body that makes an artifact of kind file, or a version of one.
func fileBody(more string, data []byte) string {
	return `{` + more + `,"content":"` + base64.StdEncoding.EncodeToString(data) + `"}`
}

// A file is kept byte by byte with its detected type, is downloaded as an attachment that a browser does not run, and
// is only written whole.
func TestArtifactsOfFiles(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	first, second := []byte("%PDF-1.7\n\x00\xff"), []byte("<html><script>alert(1)</script></html>")
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts", fileBody(`"kind":"file","name":"r\"é.pdf"`, first))
	at := "/v1/artifacts/" + made.ID.String()
	if made.MediaType != "application/pdf" || made.Bytes != int64(len(first)) ||
		made.ContentHash != parley.HashOf(first) {
		t.Errorf("made: %+v", made)
	}
	got := s.do("GET", at+"/content", "")
	if !bytes.Equal(got.body, first) {
		t.Errorf("the bytes are %q", got.body)
	}
	safe := func(r reply, media string) {
		t.Helper()
		for name, value := range map[string]string{
			"Content-Type": media, "X-Content-Type-Options": "nosniff",
			"Content-Disposition":     `attachment; filename*=utf-8''r%22%C3%A9.pdf`,
			"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
		} {
			if r.header.Get(name) != value {
				t.Errorf("%s: %q, not %q", name, r.header.Get(name), value)
			}
		}
	}
	safe(got, "application/pdf")
	for _, body := range []string{
		`{"edits":[{"old":"PDF","new":"x"}]}`, `{"patch":[]}`, `{"base_version":1,"content":"%%%"}`,
		`{"base_version":1,"content":["x"]}`,
	} {
		want[Problem](s, 422, "POST", at+"/versions", body)
	}
	want[parley.ArtifactVersion](s, 201, "POST", at+"/versions", fileBody(`"base_version":1`, second))
	want[Problem](s, 409, "POST", at+"/versions", fileBody(`"base_version":1,"merge":true`, first)) // bytes never merge
	safe(s.do("GET", at+"/content", ""), "text/plain; charset=utf-8")
	if now := want[parley.Artifact](s, 200, "GET", at, ""); now.MediaType != "text/html" || now.Version != 2 {
		t.Errorf("now: %+v", now)
	}
	diff := want[engine.ArtifactDiff](s, 200, "GET", at+"/diff", "")
	if diff.Hunks != nil || diff.Patch != nil || len(diff.Files) != 2 ||
		diff.Files[0] != (engine.FileVersion{
			Version: 1, MediaType: "application/pdf", Bytes: int64(len(first)), ContentHash: parley.HashOf(first),
		}) || diff.Files[1].ContentHash != parley.HashOf(second) {
		t.Errorf("the difference: %+v", diff)
	}
	restored := want[parley.ArtifactVersion](s, 201, "POST", at+"/versions/1/restore", "")
	if restored.MediaType != "application/pdf" {
		t.Errorf("restored: %+v", restored)
	}
	safe(s.do("GET", at+"/content", ""), "application/pdf")
	if large := s.do("POST", "/v1/artifacts", fileBody(`"kind":"file","name":"n"`,
		make([]byte, parley.MaxDocumentBytes+1))); large.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that is too large: %d %s", large.status, large.body)
	}
}

// projectOf makes a project in a directory of its name, and returns where it lies.
func (s *testServer) projectOf(name string) (project parley.Project, dir string) {
	s.Helper()
	dir = s.subdirectory(name)
	return want[parley.Project](s, 201, "POST", "/v1/projects", fmt.Sprintf(`{"name":%q,"path":%q}`, name, dir)), dir
}

func (s *testServer) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// An export overwrites what was exported, and what somebody has changed only when asked; each leaves its entry in the
// audit.
func TestAnExportOverwritesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	project, dir := s.projectOf("site")
	made := want[parley.Artifact](s, 201, "POST", "/v1/projects/"+project.ID.String()+"/artifacts",
		`{"kind":"json","name":"data","content":{"a": 1}}`)
	at := "/v1/artifacts/" + made.ID.String()
	file := filepath.Join(dir, "docs", "data.json")
	holds := func(wanted string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || string(text) != wanted {
			t.Errorf("the file holds %q, %v; not %q", text, err, wanted)
		}
	}
	export := func(status int, more string) reply {
		t.Helper()
		got := s.do("POST", at+"/export", `{"path":"docs/data.json"`+more+`}`)
		if got.status != status {
			t.Fatalf("an export {%s} is %d: %s", more, got.status, got.body)
		}
		return got
	}
	export(200, "")
	holds(`{"a":1}`)
	want[parley.ArtifactVersion](s, 201, "POST", at+"/versions", `{"base_version":1,"content":{"a":2}}`)
	export(200, "") // the file is version 1
	holds(`{"a":2}`)
	export(200, `,"version":1`)
	holds(`{"a":1}`)
	s.write(file, "{\n \"a\": 2\n}\n") // a version, in another layout
	export(200, "")
	holds(`{"a":2}`)
	for _, other := range []string{`{"a":3}`, "not JSON", strings.Repeat("x", parley.MaxDocumentBytes+1)} {
		s.write(file, other)
		if said := export(409, "").problem(t).Detail; !strings.Contains(said, "overwrite") {
			t.Errorf("the refusal says %q", said)
		}
		holds(other)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("refusals leave %v, %v", entries, err)
	}
	export(200, `,"overwrite":true`)
	holds(`{"a":2}`)
	var exports int
	for _, entry := range want[page[parley.AuditEntry]](s, 200, "GET", "/v1/audit?limit=1000", "").Data {
		if entry.Action == "exportArtifact" && entry.TargetID == made.ID {
			exports++
		}
	}
	if exports != 5 {
		t.Errorf("%d entries for 5 exports", exports)
	}
	loose := want[parley.Artifact](s, 201, "POST", "/v1/artifacts", `{"kind":"text","name":"n","content":"x"}`)
	want[Problem](s, 409, "POST", "/v1/artifacts/"+loose.ID.String()+"/export", `{"path":"n"}`)
}

// A file becomes an artifact of its kind, or a version of one, under the rules of versions.
func TestAnImportReadsAFile(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	project, dir := s.projectOf("site")
	at := "/v1/projects/" + project.ID.String() + "/artifacts/import"
	picture := string(aPNG(t, 3))
	for name, c := range map[string]struct{ text, kind, media string }{
		"outline.md": {"# One\n", "markdown", ""}, "data.json": {`{"a": [1]}`, "json", ""},
		"t.csv":   {"a,b\n", "csv", ""},
		"main.go": {"package main\n", "code", ""}, "notes": {"é", "text", ""}, "p.svg": {"<svg/>", "svg", ""},
		"p.png": {picture, "file", "image/png"}, "wrong.md": {"a\x00b", "file", "application/octet-stream"},
	} {
		s.write(filepath.Join(dir, name), c.text)
		made := want[parley.Artifact](s, 201, "POST", at, `{"path":"`+name+`","labels":["l"]}`)
		if string(made.Kind) != c.kind || made.Name != name || made.MediaType != c.media ||
			made.ProjectID != project.ID ||
			made.Visibility != parley.VisibilityWorkspace ||
			len(made.Labels) != 1 {
			t.Errorf("%s became %+v", name, made)
		}
		wanted := strings.ReplaceAll(c.text, ": ", ":")
		if got := s.do("GET", "/v1/artifacts/"+made.ID.String()+"/content", ""); string(got.body) != wanted {
			t.Errorf("%s reads %q", name, got.body)
		}
	}
	s.write(filepath.Join(dir, "v.txt"), "one\ntwo\nthree\n")
	made := want[parley.Artifact](s, 201, "POST", at, `{"path":"v.txt","name":"V"}`, "Idempotency-Key", "k")
	s.write(filepath.Join(dir, "v.txt"), "one\ntwo\nTHREE\n")
	if again := want[parley.Artifact](
		s,
		201,
		"POST",
		at,
		`{"path":"v.txt","name":"V"}`,
		"Idempotency-Key",
		"k",
	); again.ID !=
		made.ID {
		t.Error("a repeated import makes another artifact")
	}
	version := func(status int, more string) {
		t.Helper()
		if got := s.do(
			"POST",
			at,
			`{"path":"v.txt","artifact_id":"`+made.ID.String()+`"`+more+`}`,
		); got.status != status {
			t.Errorf("an import {%s} is %d: %s", more, got.status, got.body)
		}
	}
	version(422, "") // whose changes would be lost?
	version(422, `,"base_version":1,"name":"W"`)
	want[parley.ArtifactVersion](s, 201, "POST", "/v1/artifacts/"+made.ID.String()+"/versions",
		`{"edits":[{"old":"one","new":"ONE"}]}`)
	version(409, `,"base_version":1`)
	version(201, `,"base_version":1,"merge":true`)
	if got := s.do("GET", "/v1/artifacts/"+made.ID.String()+"/content", ""); string(got.body) != "ONE\ntwo\nTHREE\n" {
		t.Errorf("merged: %q", got.body)
	}
	other, _ := s.projectOf("other")
	elsewhere := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"text","name":"n","content":"x","project_id":"`+other.ID.String()+`"}`)
	want[Problem](s, 404, "POST", at, `{"path":"v.txt","base_version":1,"artifact_id":"`+elsewhere.ID.String()+`"}`)
	want[Problem](s, 422, "POST", at, `{"path":"v.txt","base_version":1}`)
	want[Problem](s, 422, "POST", at, `{"path":"p.png","kind":"text"}`)
	s.write(filepath.Join(dir, "large.txt"), strings.Repeat("x", parley.MaxDocumentBytes+1))
	want[Problem](s, 413, "POST", at, `{"path":"large.txt"}`)
}

// Exports and imports reach what the file tools reach, and nothing else.
func TestFilesOfProjectsByHostilePaths(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	project, dir := s.projectOf("site")
	outside := s.subdirectory("outside")
	secret := filepath.Join(outside, "secret")
	s.write(secret, "secret")
	for _, sub := range []string{".git/hooks", ".ssh"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.write(filepath.Join(dir, ".ssh", "id_ed25519"), "secret")
	s.write(filepath.Join(dir, ".env"), "secret")
	for link, target := range map[string]string{"out": outside, "leads": secret, "round": "round"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(s.data, "parley.db"), filepath.Join(dir, "twin.db")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := want[parley.Artifact](s, 201, "POST", "/v1/projects/"+project.ID.String()+"/artifacts",
		`{"kind":"text","name":"n","content":"hostile"}`)
	for _, path := range []string{
		"", ".", "..", "../outside/secret", "/etc/passwd", secret, "a/../../outside/secret", "./n", "docs//n", "n\x00",
		".git/hooks/pre-commit", ".GIT/config", ".ssh/id_ed25519", ".env", "out/secret", "leads", "round",
		"twin.db", "pipe",
		"docs/" + strings.Repeat("x/", 4096) + "n", strings.Repeat("x", 300),
	} {
		quoted := string(parley.AppendJSONString(nil, path))
		for at, body := range map[string]string{
			"/v1/artifacts/" + made.ID.String() + "/export":             `{"overwrite":true,"path":` + quoted + `}`,
			"/v1/projects/" + project.ID.String() + "/artifacts/import": `{"kind":"file","path":` + quoted + `}`,
		} {
			if got := s.do("POST", at, body); got.status < 400 || got.status >= 500 ||
				bytes.Contains(got.body, []byte(`"secret"`)) || !strings.Contains(path, s.root) &&
				bytes.Contains(got.body, []byte(s.root)) {
				t.Errorf("%s %s: %d %s", at, parley.Clip(quoted, 64), got.status, got.body)
			}
		}
	}
	for name, wanted := range map[string]string{secret: "secret", filepath.Join(dir, ".env"): "secret"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != wanted {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, ".git", "hooks")); err != nil || len(entries) > 0 {
		t.Errorf("in .git: %v, %v", entries, err)
	}
	if list := want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts", "").Data; len(list) != 1 {
		t.Errorf("%d artifacts", len(list))
	}
}

// Who may choose directories may export and import what they see.
func TestWhoExportsAndImports(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	boss := s.key("one", "boss", parley.RoleAdmin)
	dir := s.subdirectory("site")
	s.write(filepath.Join(dir, "f.txt"), "text")
	project := want[parley.Project](s, 201, "POST", "/v1/projects", fmt.Sprintf(`{"name":"site","path":%q}`, dir),
		"Authorization", boss)
	at := "/v1/projects/" + project.ID.String() + "/artifacts/import"
	member, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	private := want[parley.Artifact](
		s,
		201,
		"POST",
		at,
		`{"path":"f.txt","visibility":"private"}`,
		"Authorization",
		member,
	)
	export := "/v1/artifacts/" + private.ID.String() + "/export"
	want[engine.ArtifactExport](s, 200, "POST", export, `{"path":"g.txt"}`, "Authorization", member)
	want[Problem](s, 404, "POST", export, `{"path":"h.txt"}`, "Authorization", other)
	want[Problem](s, 404, "POST", export, `{"path":"h.txt"}`, "Authorization", s.key("two", "eve", parley.RoleAdmin))
	want[Problem](s, 404, "POST", at, `{"path":"f.txt"}`, "Authorization", s.key("three", "eve", parley.RoleAdmin))
	reader := s.key("one", "reader", parley.RoleReader)
	want[Problem](s, 403, "POST", at, `{"path":"f.txt"}`, "Authorization", reader)
	want[Problem](s, 403, "POST", export, `{"path":"h.txt"}`, "Authorization", reader)
	if _, err := os.Lstat(filepath.Join(dir, "h.txt")); err == nil {
		t.Error("a refused export wrote its file")
	}
}

// A model sees a file as its name, type and size, and an image itself; it writes none.
func TestDocumentToolsShowFiles(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script",` + documentTools + `}`)
	artifact := func(data []byte) string {
		return want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
			fileBody(`"kind":"file","name":"F","session_id":"`+session.ID.String()+`"`, data)).ID.String()
	}
	document, picture := artifact([]byte("%PDF-1.7\n")), artifact(aPNG(t, 5))
	if got := s.one(
		session.ID,
		`read_artifact {"id":"`+document+`"}`,
	); !strings.Contains(got, `"media_type":"application/pdf"`) ||
		!strings.Contains(got, `"size":9`) ||
		strings.Contains(got, "%PDF") {
		t.Errorf("a PDF is read as %s", got)
	}
	if got := s.one(session.ID, `list_artifacts {"kind":"file"}`); strings.Count(got, `"media_type"`) != 2 {
		t.Errorf("listed: %s", got)
	}
	s.one(session.ID, `read_artifact {"id":"`+picture+`"}`)
	record := s.recordOf("/v1/sessions/" + session.ID.String())
	var shown []parley.Part
	for i := range record {
		if record[i].Role == parley.RoleToolResult {
			shown = parley.PartsOf(record[i].Content)
		}
	}
	if len(shown) != 2 || shown[1].Type != parley.PartImage && shown[1].Type != parley.PartFile ||
		shown[1].MediaType != "image/png" || shown[1].FileID.IsZero() || shown[1].SHA256 != parley.HashOf(aPNG(t, 5)) ||
		!strings.Contains(string(shown[0].Object), `"version":1`) {
		t.Errorf("a picture is shown as %+v", shown)
	}
	for _, call := range []string{
		`write_artifact {"name":"n","kind":"file","content":"eA=="}`,
		`write_artifact {"id":"` + document + `","base_version":1,"content":"eA=="}`,
		`edit_artifact {"id":"` + document + `","edits":[{"old":"PDF","new":"x"}]}`,
	} {
		if got := s.one(session.ID, call); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", call, got)
		}
	}
}
