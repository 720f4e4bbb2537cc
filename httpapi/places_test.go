package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// A project is a directory under an allowed root; no link leads out of it.
func TestProjectsStayInsideTheRoots(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	inside, outside := s.subdirectory("site"), t.TempDir()
	link := func(name, target string) string {
		path := filepath.Join(s.root, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(s.root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"outside": outside, "a link out": link("out", outside),
		"below a link out": filepath.Join(link("up", filepath.Dir(outside)), filepath.Base(outside)),
		"dots":             s.root + "/site/../../" + filepath.Base(outside), "a file": file,
		"nothing": filepath.Join(s.root, "none"), "relative": "site", "empty": "",
	} {
		got := s.do("POST", "/v1/projects", fmt.Sprintf(`{"path":%q}`, path))
		if got.status != 422 || got.problem(t).Errors[0].Field != "path" {
			t.Errorf("%s: status %d %s", name, got.status, got.body)
		}
	}
	made := want[parley.Project](s, 201, "POST", "/v1/projects", fmt.Sprintf(`{"path":%q,"icon":"🌲"}`, inside))
	for _, other := range []string{inside + "/", link("same", inside), s.root + "/./site"} {
		if again := want[parley.Project](
			s,
			200,
			"POST",
			"/v1/projects",
			fmt.Sprintf(`{"path":%q}`, other),
		); again.ID != made.ID ||
			again.Icon != "🌲" {
			t.Errorf("%s is project %+v, want %+v", other, again, made)
		}
	}
	second := want[parley.Project](
		s,
		201,
		"POST",
		"/v1/projects",
		fmt.Sprintf(`{"path":%q,"name":"Two"}`, s.subdirectory("two")),
	)
	if recent := want[page[parley.Project]](
		s,
		200,
		"GET",
		"/v1/projects?recent=1",
		"",
	).Data; len(recent) != 1 || recent[0].ID != second.ID ||
		second.Name != "Two" {
		t.Errorf("recent %+v", recent)
	}
}

// A deleted project leaves its sessions, or takes them along, at once.
func TestDeletedProjects(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, cascade := range []bool{false, true} {
		project := want[parley.Project](
			s,
			201,
			"POST",
			"/v1/projects",
			fmt.Sprintf(`{"path":%q}`, s.subdirectory("site")),
		)
		session := "/v1/sessions/" + s.session(fmt.Sprintf(`{"project_id":%q}`, project.ID)).ID.String()
		want[struct{}](s, 204, "DELETE", fmt.Sprintf("/v1/projects/%s?cascade=%t", project.ID, cascade), "")
		if cascade {
			if got := s.do("GET", session, ""); got.status != 404 {
				t.Errorf("with cascade the session is there: status %d", got.status)
			}
			continue
		}
		if left := want[parley.Session](s, 200, "GET", session, ""); !left.ProjectID.IsZero() {
			t.Errorf("the session still names project %s", left.ProjectID)
		}
	}
}

// TestADeletionHasOneShape: the feed and the stream of a session tell of its deletion with the same frame.
func TestADeletionHasOneShape(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	feed := s.stream("GET", "/v1/events", "")
	feed.until("resync")
	own := s.stream("GET", "/v1/sessions/"+session+"/events", "")
	both := s.stream("GET", "/v1/events?session="+session, "")
	both.until("resync")
	want[struct{}](s, 204, "DELETE", "/v1/sessions/"+session, "")
	for name, of := range map[string]*frames{"the feed": feed, "its stream": own, "a feed with it": both} {
		seen := of.until("session.deleted")
		last := seen[len(seen)-1]
		if last.data.SessionID.String() != session || string(last.data.Data) != `{"session_id":"`+session+`"}` {
			t.Errorf("%s says %s of %s", name, last.data.Data, last.data.SessionID)
		}
	}
}

// What a client has open is its own, and the feed tells of each change.
func TestClientsOnTheFeed(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	feed := s.stream("GET", "/v1/events", "")
	feed.until("resync")
	first := s.session(`{"client_id":"tab"}`)
	second := s.session(`{}`)
	open := fmt.Sprintf(`{"session_id":%q}`, second.ID)
	want[parley.Session](s, 200, "PUT", "/v1/clients/tab/session", open)
	want[struct{}](s, 204, "DELETE", "/v1/clients/tab/session", "")
	want[struct{}](s, 204, "DELETE", "/v1/clients/tab/session", "")
	want[parley.Session](s, 200, "PUT", "/v1/clients/other/session", open)
	want[struct{}](s, 204, "DELETE", "/v1/sessions/"+second.ID.String(), "")
	type told struct {
		event   string
		session parley.ID
	}
	var got []told
	for _, f := range feed.until("session.deleted") {
		if f.id != "" {
			t.Errorf("%s of the feed has id %s", f.event, f.id)
		}
		if f.event == "session.activated" || f.event == "session.deactivated" || f.event == "session.deleted" {
			got = append(got, told{f.event, f.data.SessionID})
		}
	}
	wanted := map[told]int{
		{"session.activated", first.ID}:    1,
		{"session.deactivated", first.ID}:  1,
		{"session.activated", second.ID}:   2,
		{"session.deactivated", second.ID}: 1,
		{"session.deleted", second.ID}:     1,
	}
	for _, one := range got {
		wanted[one]--
	}
	for one, left := range wanted {
		if left != 0 {
			t.Errorf("%s of %s: %d too few, in %v", one.event, one.session, left, got)
		}
	}
	if got := s.do("GET", "/v1/clients/other/session", ""); got.status != 404 {
		t.Errorf("a client has a deleted session open: status %d", got.status)
	}
	if got := s.do("PUT", "/v1/clients/tab/session", open); got.status != 404 {
		t.Errorf("opening a deleted session: status %d", got.status)
	}
}

// What lies outside the roots is not found, and whose project a directory is
// stays in its workspace.
func TestDirectoriesOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	inside := s.subdirectory("site")
	one, two := s.key("one", "one", parley.RoleMember), s.key("two", "two", parley.RoleMember)
	project := want[parley.Project](
		s,
		201,
		"POST",
		"/v1/projects",
		fmt.Sprintf(`{"path":%q}`, inside),
		"Authorization",
		one,
	)
	for bearer, id := range map[string]parley.ID{one: project.ID, two: {}} {
		listing := want[engine.Directories](s, 200, "GET", "/v1/directories?path="+s.root, "", "Authorization", bearer)
		if len(listing.Data) != 1 || listing.Data[0].ProjectID != id || listing.Data[0].Name != "site" {
			t.Errorf("directories %+v, want the project %s", listing.Data, id)
		}
	}
	for path, status := range map[string]int{t.TempDir(): 404, s.root + "/none": 404, "/": 404, "site": 422} {
		if got := s.do("GET", "/v1/directories?path="+path, "", "Authorization", one); got.status != status {
			t.Errorf("%s: status %d %s", path, got.status, got.body)
		}
	}
}
