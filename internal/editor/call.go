package editor

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"time"

	"example.org/parley"
)

// projectWrite is Parley's own tool that writes a file of the session's project.
const projectWrite = "write_file"

// kindOther is the kind of calls that the protocol has no word for.
const kindOther = "other"

// oldTextTime bounds how long the editor may take to tell a file's text for a change that it is shown.
const oldTextTime = 5 * time.Second

// kindOf is what the protocol calls a tool's kind.
func kindOf(name string) string {
	if _, kind, ok := strings.Cut(name, "__"); ok { // of an agent of the same protocol
		switch kind {
		case "read", "edit", "delete", "move", "search", "execute", "think", "fetch":
			return kind
		}
		name = kind
	}
	name = strings.TrimPrefix(name, toolPrefix)
	switch word, _, _ := strings.Cut(name, "_"); word {
	case "read", "list":
		return "read"
	case "write", "edit", "create":
		return "edit"
	case "search", "find", "web":
		return "search"
	case "fetch":
		return "fetch"
	case "run", "exec", "shell", "bash":
		return "execute"
	}
	return kindOther
}

// named are arguments that say in a title what a call is about, and where.
type named struct {
	Title    string   `json:"title"` // of a call of an agent of the same protocol
	Path     string   `json:"path"`
	Query    string   `json:"query"`
	URL      string   `json:"url"`
	Command  string   `json:"command"`
	Args     []string `json:"args"`
	Question string   `json:"question"`
	Text     *string  `json:"text"`
}

// argumentsOf reads them; arguments of other forms have none.
func argumentsOf(arguments json.RawMessage) (n named) {
	if json.Unmarshal(arguments, &n) != nil {
		return named{}
	}
	return n
}

// describe says what a call is.
func (v *view) describe(id, name string, arguments json.RawMessage) *callUpdate {
	told := &callUpdate{ID: id, Title: name, Kind: kindOf(name)}
	if len(arguments) <= maxShownInput {
		told.Input = arguments
	}
	given := argumentsOf(arguments)
	if given.Title != "" && strings.Contains(name, "__") {
		told.Title = parley.Clip(given.Title, maxTitle)
		return told
	}
	command := strings.Join(append([]string{given.Command}, given.Args...), " ")
	for _, about := range []string{given.Path, given.Query, given.URL, command, given.Question} {
		if about = strings.TrimSpace(about); about != "" {
			told.Title = parley.Clip(name+" "+strings.Join(strings.Fields(about), " "), maxTitle)
			break
		}
	}
	if given.Path != "" && (strings.HasPrefix(name, toolPrefix) || v.ofProject(name)) {
		told.Locations = []location{{v.x.absolute(given.Path)}}
	}
	return told
}

// ofProject reports whether a tool works on files of the session's project by their paths.
func (v *view) ofProject(name string) bool {
	return (name == projectWrite || name == "read_file") && v.x.directory != ""
}

// shows adds what a call that writes a file will change there: the editor shows it before its user decides.
func (v *view) shows(ctx context.Context, told *callUpdate, name string, arguments json.RawMessage) {
	given := argumentsOf(arguments)
	if given.Path == "" || given.Text == nil || name != writeTool && name != projectWrite {
		return
	}
	v.mu.Lock()
	change, known := v.changes[told.ID]
	v.mu.Unlock()
	if known {
		told.Content = append(told.Content, change)
		return
	}
	change = callContent{Type: "diff", Path: v.x.absolute(given.Path), NewText: given.Text}
	if v.x.server.editorOffers().Files.Read {
		ctx, stop := context.WithTimeout(ctx, oldTextTime)
		defer stop()
		if text, err := v.x.read(ctx, given.Path, nil, nil); err == nil {
			change.OldText = &text
		}
	}
	v.mu.Lock()
	v.changes[told.ID] = change
	v.mu.Unlock()
	told.Content = append(told.Content, change)
}

// diffsOf returns the changes of files that a call reports, and the text beside them: an agent of the same protocol
// reports them so.
func diffsOf(result json.RawMessage, text string) (string, []callContent) {
	var made struct {
		Text  string `json:"text"`
		Diffs []struct {
			Path    string  `json:"path"`
			OldText *string `json:"old_text"`
			NewText string  `json:"new_text"`
		} `json:"diffs"`
	}
	if len(result) == 0 || result[0] != '{' || json.Unmarshal(result, &made) != nil || len(made.Diffs) == 0 {
		return text, nil
	}
	var changes []callContent
	for _, d := range made.Diffs {
		changes = append(changes, callContent{
			Type: "diff", Path: path.Clean(d.Path), OldText: d.OldText, NewText: &d.NewText,
		})
	}
	return made.Text, changes
}
