package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// noFiles attaches nothing.
func noFiles([]parley.Message) (prompt.Attachments, error) { return nil, nil }

// shelf holds files by id, with their bytes.
type shelf map[parley.ID]parley.File

func (s shelf) open(id parley.ID) (parley.File, error) {
	file, ok := s[id]
	if !ok {
		return file, parley.Errorf(parley.CodeNotFound, "there is no such file")
	}
	return file, nil
}

func (s shelf) read(file parley.File) ([]byte, error) { return []byte("bytes of " + file.Name), nil }

func (s shelf) add(name, mediaType string, size int64, width int) parley.ID {
	id := parley.NewID()
	s[id] = parley.File{ID: id, Name: name, MediaType: mediaType, Size: size, Width: width, Height: width}
	return id
}

func withFiles(t *testing.T, sequence int64, text string, ids ...parley.ID) parley.Message {
	t.Helper()
	user := parley.UserContent{Text: text}
	for _, id := range ids {
		user.Files = append(user.Files, id.String())
	}
	content, err := parley.EncodeContent(user)
	if err != nil {
		t.Fatal(err)
	}
	return parley.Message{
		ID:       parley.NewID(),
		Sequence: sequence,
		Role:     parley.RoleUser,
		Status:   parley.MessageCompleted,
		Content:  content,
	}
}

func TestFilesBecomeParts(t *testing.T) {
	t.Parallel()
	files := shelf{}
	photo, notes := files.add("photo.png", "image/png", 100, 8), files.add("notes \"x\".txt", "text/plain", 100, 0)
	pdf, gone := files.add("report.pdf", "application/pdf", 100, 0), parley.NewID()
	rows := []parley.Message{withFiles(t, 1, "look", photo, notes, pdf, gone)}
	for _, vision := range []bool{true, false} {
		attached, err := prompt.Attach(rows, vision, files.open, files.read)
		if err != nil {
			t.Fatal(err)
		}
		request, _, err := prompt.Build(
			prompt.Settings{Model: modelA},
			prompt.Selection{Messages: rows},
			nil,
			prompt.Tools{},
			attached,
		)
		if err != nil {
			t.Fatal(err)
		}
		want := []model.Part{
			{
				Kind:      model.PartImage,
				Name:      "photo.png",
				MediaType: "image/png",
				Data:      []byte("bytes of photo.png"),
				Width:     8,
				Height:    8,
			},
			{Kind: model.PartText, Text: "<file name=\"notes 'x'.txt\">\nbytes of notes \"x\".txt\n</file>"},
			{
				Kind: model.PartText,
				Text: "[The file report.pdf (application/pdf, 100 bytes) is not shown: it is no text or image that a " +
					"model can be shown.]",
			},
			{Kind: model.PartText, Text: "[A file that was here is gone.]"},
			{Kind: model.PartText, Text: "look"},
		}
		if !vision {
			want[0] = model.Part{
				Kind: model.PartText,
				Text: "[The image photo.png (8x8) is not shown: this model reads no images.]",
			}
		}
		if diff := cmp.Diff(
			want,
			request.Messages[0].Parts,
			cmpopts.IgnoreFields(model.Part{}, "Sequence"),
		); diff != "" {
			t.Errorf("vision %t (-want +got):\n%s", vision, diff)
		}
	}
}

// The newest files are shown; those beyond the bound are named.
func TestOlderFilesAreNamed(t *testing.T) {
	t.Parallel()
	files := shelf{}
	var rows []parley.Message
	for i := range 5 {
		rows = append(rows, withFiles(t, int64(i+1), "", files.add("photo.png", "image/png", parley.MaxImageBytes, 8)))
	}
	attached, err := prompt.Attach(rows, true, files.open, files.read)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		part := attached[parley.FilesOf(rows[i].Content)[0]]
		if shown := part.Kind == model.PartImage; shown != (i > 0) {
			t.Errorf("message %d of 5: shown %t", i+1, shown)
		}
		if i == 0 && !strings.Contains(part.Text, "more files than one request can") {
			t.Errorf("the oldest is %q", part.Text)
		}
	}
}

func TestAttachFailsWithTheStore(t *testing.T) {
	t.Parallel()
	files, broken := shelf{}, errors.New("no database")
	rows := []parley.Message{withFiles(t, 1, "", files.add("photo.png", "image/png", 1, 8))}
	if _, err := prompt.Attach(
		rows,
		true,
		files.open,
		func(parley.File) ([]byte, error) { return nil, broken },
	); !errors.Is(
		err,
		broken,
	) {
		t.Errorf("reading fails with %v; want the store's error", err)
	}
}
