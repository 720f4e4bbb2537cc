package acp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/runner"
)

// TestWhatWasSaidAsBlocks: files and links become what the program takes, by its
// capabilities.
func TestWhatWasSaidAsBlocks(t *testing.T) {
	t.Parallel()
	id := parley.NewID()
	said := []runner.Shown{
		{Text: "Read this."},
		{Kind: runner.ShownFile, Name: `a "b".txt`, MediaType: "text/plain", FileID: id, Data: []byte("text of it")},
		{Kind: runner.ShownLink, URL: "https://example.org/docs/a", Name: "The docs"},
		{Kind: runner.ShownLink, URL: "https://example.org/docs/a.md"},
		{Kind: runner.ShownLink, URL: "https://example.org"},
		{Kind: runner.ShownLink, URL: "see chapter two"},
	}
	links := []acpwire.Block{
		{Type: "resource_link", URI: "https://example.org/docs/a", Name: "The docs"},
		{Type: "resource_link", URI: "https://example.org/docs/a.md", Name: "a.md"},
		{Type: "resource_link", URI: "https://example.org", Name: "example.org"},
		{Type: "text", Text: "see chapter two"},
	}
	for _, c := range []struct {
		takes acpwire.PromptCapabilities
		file  acpwire.Block
	}{
		{
			acpwire.PromptCapabilities{},
			acpwire.Block{Type: "text", Text: "<file name=\"a 'b'.txt\">\ntext of it\n</file>"},
		},
		{acpwire.PromptCapabilities{Embedded: true}, acpwire.Block{Type: "resource", Resource: &acpwire.Resource{
			MIMEType: "text/plain", Text: "text of it",
			URI: "parley://files/" + id.String() + "/a%20%22b%22.txt",
		}}},
	} {
		got, ok := blocksOf(c.takes, said)
		want := append([]acpwire.Block{{Type: "text", Text: "Read this."}, c.file}, links...)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%+v (-want +got), %t:\n%s", c.takes, ok, diff)
		}
	}
	image := []runner.Shown{{Kind: runner.ShownImage, MediaType: "image/png", Data: []byte{1, 2, 3}}}
	if _, ok := blocksOf(acpwire.PromptCapabilities{Embedded: true}, image); ok {
		t.Error("an image goes to a program that takes none")
	}
	got, ok := blocksOf(acpwire.PromptCapabilities{Images: true}, image)
	want := []acpwire.Block{{Type: "image", MIMEType: "image/png", Data: "AQID"}}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("an image (-want +got), %t:\n%s", ok, diff)
	}
}
