package sim

import (
	"cmp"
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/model"
)

// writer works on a document with the tools for it: a first message makes it write one and edit it, a later one makes
// it find, read and extend the one that was changed last.
type writer struct{}

// The tools that writer uses, and the passage that it replaces.
const (
	toolListArtifacts = "list_artifacts"
	toolReadArtifact  = "read_artifact"
	toolWriteArtifact = "write_artifact"
	toolEditArtifact  = "edit_artifact"

	statusDraft = "Status: draft"
	statusReady = "Status: ready"
)

// writtenDocument is what the tools answer, as far as writer reads it.
type writtenDocument struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Version   int               `json:"version"`
	Artifacts []writtenDocument `json:"artifacts"`
}

// passageEdit is an edit of edit_artifact.
type passageEdit struct {
	Old string `json:"old"`
	New string `json:"new"`
}

func (writer) play(a *answer) {
	for _, name := range []string{toolListArtifacts, toolReadArtifact, toolWriteArtifact, toolEditArtifact} {
		if !a.request.offers(name) {
			a.end("this agent cannot work on documents; give it the tool %s.", name)
			return
		}
	}
	now := a.request.turn()
	if refused := now.refusals(); refused != "" {
		a.end("the document did not change. %s", refused)
		return
	}
	subject := "Untitled"
	if len(now.received) > 0 {
		subject = cmp.Or(now.began().subject(), subject)
	}
	name, arguments := now.nextOnDocument(subject)
	if name == "" {
		found := now.document()
		a.end("the document %q is ready, as version %d.", found.Name, found.Version)
		return
	}
	if a.use(0, name, arguments) {
		a.finish(parley.FinishToolCalls)
	}
}

// nextOnDocument returns the call that follows the turn's last one; no name when the work is done.
func (t *turn) nextOnDocument(subject string) (name string, arguments any) {
	last := ""
	if n := len(t.steps); n > 0 {
		if calls := t.steps[n-1].calls(); len(calls) > 0 {
			last = calls[0].Name
		}
	}
	found := t.document()
	switch {
	case last == "":
		return toolListArtifacts, struct{}{}
	case last == toolListArtifacts && found.ID == "":
		return toolWriteArtifact, map[string]string{
			"kind": string(parley.ArtifactMarkdown), "name": subject,
			"content": fmt.Sprintf("# %s\n\nSimulated text.\n\n%s\n", subject, statusDraft),
		}
	case last == toolListArtifacts:
		return toolReadArtifact, map[string]string{"id": found.ID}
	case last == toolReadArtifact:
		more := fmt.Sprintf("## %s\n\nMore simulated text.\n\n%s", subject, statusReady)
		return toolEditArtifact, editOf(found, passageEdit{statusReady, more})
	case last == toolWriteArtifact:
		return toolEditArtifact, editOf(found, passageEdit{statusDraft, statusReady})
	}
	return "", nil
}

func editOf(of writtenDocument, edit passageEdit) any {
	return struct {
		ID          string        `json:"id"`
		BaseVersion int           `json:"base_version"`
		Edits       []passageEdit `json:"edits"`
	}{of.ID, of.Version, []passageEdit{edit}}
}

// document returns the document that the turn's last results are about; of a list the first.
func (t *turn) document() (found writtenDocument) {
	for _, p := range t.results {
		if p.Kind == model.PartToolResult && json.Unmarshal([]byte(p.Text), &found) != nil {
			return writtenDocument{}
		}
	}
	if len(found.Artifacts) > 0 {
		return found.Artifacts[0]
	}
	return found
}
