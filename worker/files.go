package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// attach finds the files of a request's messages. It fails if the turn shows an image to a model that cannot see.
func (r *requests) attach(messages []parley.Message) (prompt.Attachments, *parley.Failure, error) {
	vision := r.info.Sees()
	images := map[parley.ID]bool{}
	files, err := prompt.Attach(messages, vision, func(id parley.ID) (parley.File, error) {
		file, err := r.w.store.File(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, id)
		images[id] = err == nil && file.IsImage()
		return file, err
	}, r.bytes)
	if err != nil || vision {
		return files, nil, err
	}
	for i := range messages {
		m := &messages[i]
		asked := m.ID == r.claim.Trigger.ID || m.Steer
		if asked && slices.ContainsFunc(parley.FilesOf(m.Content), func(id parley.ID) bool { return images[id] }) {
			return nil, &parley.Failure{
				Class: parley.ClassModel,
				Sentence: "The model " + string(
					r.settings.Model,
				) + " reads no images. Choose one with vision, then retry.",
			}, nil
		}
	}
	return files, nil, nil
}

// bytes reads a whole file. Only files that fit into a request come here.
func (r *requests) bytes(file parley.File) ([]byte, error) {
	r.read += int(file.Size)
	if err := r.reserve(r.read); err != nil {
		return nil, err
	}
	data := make([]byte, 0, file.Size)
	for n := 0; int64(len(data)) < file.Size; n++ {
		chunk, err := r.w.store.FileChunk(r.writes, file.WorkspaceID, file.BlobID, n)
		if err != nil {
			return nil, err
		}
		data = append(data, chunk...)
	}
	return data, nil
}
