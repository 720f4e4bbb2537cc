package prompt

import (
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// Attachments maps files of a request's messages to parts of the request.
type Attachments map[parley.ID]model.Part

// Attached is a file that a message names, as a request shows it.
type Attached struct {
	parley.File

	Data []byte
	Note string // stands in the place of a file that is not shown; "" for one that is
}

// Attach finds the parts of the files that messages name: images as images if the model has vision, text as text,
// everything else by its name. The newest files come first: those beyond parley.MaxShownBytes show only their names.
// open reads a file's description and read its bytes; a missing file (CodeNotFound) is named as missing.
func Attach(
	messages []parley.Message,
	vision bool,
	open func(parley.ID) (parley.File, error),
	read func(parley.File) ([]byte, error),
) (Attachments, error) {
	files, err := Open(messages, vision, open, read)
	if err != nil || files == nil {
		return nil, err
	}
	parts := make(Attachments, len(files))
	for id, file := range files {
		parts[id] = file.part()
	}
	return parts, nil
}

// Open reads the files that messages name, as far as Attach shows them.
func Open(
	messages []parley.Message,
	vision bool,
	open func(parley.ID) (parley.File, error),
	read func(parley.File) ([]byte, error),
) (map[parley.ID]Attached, error) {
	var files map[parley.ID]Attached
	left := int64(parley.MaxShownBytes)
	for i := len(messages) - 1; i >= 0; i-- {
		if role := messages[i].Role; role != parley.RoleUser && role != parley.RoleToolResult {
			continue
		}
		for _, id := range parley.FilesOf(messages[i].Content) {
			if _, done := files[id]; done {
				continue
			}
			if files == nil {
				files = map[parley.ID]Attached{}
			}
			file, err := attach(id, vision, left, open, read)
			if err != nil {
				return nil, err
			}
			files[id] = file
			if file.Note == "" {
				left -= file.Size
			}
		}
	}
	return files, nil
}

// attach reads one file, unless it is not shown.
func attach(
	id parley.ID,
	vision bool,
	left int64,
	open func(parley.ID) (parley.File, error),
	read func(parley.File) ([]byte, error),
) (found Attached, err error) {
	found.File, err = open(id)
	file := found.File
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		found.Note, err = "[A file that was here is gone.]", nil
	case err != nil:
		return found, err
	case file.IsImage() && !vision:
		found.Note = fmt.Sprintf(
			"[The image %s (%dx%d) is not shown: this model reads no images.]",
			file.Name,
			file.Width,
			file.Height,
		)
	case !Shows(file):
		found.Note = fmt.Sprintf(
			"[The file %s (%s, %d bytes) is not shown: it is no text or image that a model can be shown.]",
			file.Name,
			file.MediaType,
			file.Size,
		)
	case file.Size > left:
		found.Note = fmt.Sprintf(
			"[The file %s (%s, %d bytes) is not shown: the conversation holds more files than one request can.]",
			file.Name,
			file.MediaType,
			file.Size,
		)
	default:
		found.Data, err = read(file)
	}
	return found, err
}

// part is a file as a request has it.
func (a *Attached) part() model.Part {
	switch {
	case a.Note != "":
		return textPart(a.Note)
	case a.IsImage():
		return model.Part{
			Kind:      model.PartImage,
			Name:      a.Name,
			MediaType: a.MediaType,
			Data:      a.Data,
			Width:     a.Width,
			Height:    a.Height,
		}
	}
	return textPart(a.Text())
}

// Text is a text file that is shown, with its name.
func (a *Attached) Text() string {
	return `<file name="` + strings.ReplaceAll(a.Name, `"`, "'") + "\">\n" + string(a.Data) + "\n</file>"
}

// Shows reports whether a model with vision can see a file's content.
func Shows(file parley.File) bool {
	return file.IsImage() && file.Size <= parley.MaxImageBytes || file.IsText() && file.Size <= parley.MaxTextFileBytes
}
