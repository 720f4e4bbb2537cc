package prompt

import (
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// Attachments maps files of a request's messages to parts of the request.
type Attachments map[parley.ID]model.Part

// Attach finds the parts of the files that messages name: images as images if the model has vision, text as text,
// everything else by its name. The newest files come first: those beyond parley.MaxShownBytes show only their names.
// open reads a file's description and read its bytes; a missing file (CodeNotFound) is named as missing.
func Attach(
	messages []parley.Message,
	vision bool,
	open func(parley.ID) (parley.File, error),
	read func(parley.File) ([]byte, error),
) (Attachments, error) {
	var parts Attachments
	left := int64(parley.MaxShownBytes)
	for i := len(messages) - 1; i >= 0; i-- {
		if role := messages[i].Role; role != parley.RoleUser && role != parley.RoleToolResult {
			continue
		}
		for _, id := range parley.FilesOf(messages[i].Content) {
			if _, done := parts[id]; done {
				continue
			}
			if parts == nil {
				parts = Attachments{}
			}
			part, size, err := attach(id, vision, left, open, read)
			if err != nil {
				return nil, err
			}
			parts[id] = part
			left -= size
		}
	}
	return parts, nil
}

// attach makes the part of one file, and returns how many of its bytes are in it.
func attach(
	id parley.ID,
	vision bool,
	left int64,
	open func(parley.ID) (parley.File, error),
	read func(parley.File) ([]byte, error),
) (model.Part, int64, error) {
	file, err := open(id)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		return textPart("[A file that was here is gone.]"), 0, nil
	case err != nil:
		return model.Part{}, 0, err
	case file.IsImage() && !vision:
		return textPart(
			fmt.Sprintf(
				"[The image %s (%dx%d) is not shown: this model reads no images.]",
				file.Name,
				file.Width,
				file.Height,
			),
		), 0, nil
	case !Shows(file):
		return textPart(
			fmt.Sprintf(
				"[The file %s (%s, %d bytes) is not shown: it is no text or image that a model can be shown.]",
				file.Name,
				file.MediaType,
				file.Size,
			),
		), 0, nil
	case file.Size > left:
		return textPart(
			fmt.Sprintf(
				"[The file %s (%s, %d bytes) is not shown: the conversation holds more files than one request can.]",
				file.Name,
				file.MediaType,
				file.Size,
			),
		), 0, nil
	}
	data, err := read(file)
	if err != nil {
		return model.Part{}, 0, err
	}
	if file.IsImage() {
		return model.Part{
			Kind:      model.PartImage,
			Name:      file.Name,
			MediaType: file.MediaType,
			Data:      data,
			Width:     file.Width,
			Height:    file.Height,
		}, file.Size, nil
	}
	return textPart(
		`<file name="` + strings.ReplaceAll(file.Name, `"`, "'") + "\">\n" + string(data) + "\n</file>",
	), file.Size, nil
}

// Shows reports whether a model with vision can see a file's content.
func Shows(file parley.File) bool {
	return file.IsImage() && file.Size <= parley.MaxImageBytes || file.IsText() && file.Size <= parley.MaxTextFileBytes
}
