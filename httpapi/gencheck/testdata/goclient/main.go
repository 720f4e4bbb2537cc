// Command goclient has a conversation through a client that oapi-codegen wrote.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

func main() {
	ctx := context.Background()
	client, err := NewClientWithResponses(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	model := "sim/echo"
	created, err := client.CreateSessionWithResponse(ctx, nil, SessionInput{Model: &model})
	if err != nil || created.JSON201 == nil {
		log.Fatal(err, string(created.Body))
	}
	var session *Session = created.JSON201

	var content MessageInput_Content
	text := "Hello from Go"
	if err := content.FromUserInput(UserInput{Text: &text}); err != nil {
		log.Fatal(err)
	}
	streamed, err := client.PostMessageStreamWithResponse(ctx, session.Id, nil, MessageInput{Content: &content})
	if err != nil || !completed(streamed.Body) {
		log.Fatal(err, string(streamed.Body))
	}
	posted, err := client.PostMessageWithResponse(ctx, session.Id, nil, MessageInput{Content: &content})
	if err != nil || posted.JSON201 == nil || posted.JSON201.Role != "user" {
		log.Fatal(err, string(posted.Body))
	}
	listed, err := client.ListMessagesWithResponse(ctx, session.Id, nil)
	if err != nil || listed.JSON200 == nil || len(listed.JSON200.Data) == 0 {
		log.Fatal(err, string(listed.Body))
	}
	if first := listed.JSON200.Data[0]; first.Role != "user" || *first.Content.Text != text {
		log.Fatal("the first message is ", first.Role, first.Content)
	}
	watched, err := client.WatchSession(ctx, session.Id, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer watched.Body.Close()
	for ended, seen := 0, make([]byte, 0, 4096); ended < 2; ended = strings.Count(string(seen),
		"event: session.completed") {
		piece := make([]byte, 4096)
		n, err := watched.Body.Read(piece)
		if seen = append(seen, piece[:n]...); err == io.EOF {
			log.Fatal("the stream ended")
		} else if err != nil {
			log.Fatal(err)
		}
	}
	turns, err := client.ListTurnsWithResponse(ctx, session.Id, nil)
	if err != nil || turns.JSON200 == nil {
		log.Fatal(err, string(turns.Body))
	}
	missing, err := client.GetAgentWithResponse(ctx, "nobody")
	if err != nil || missing.ApplicationproblemJSON404 == nil {
		log.Fatal(err, string(missing.Body))
	}
	fmt.Println(session.Status, len(turns.JSON200.Data), missing.ApplicationproblemJSON404.Code)
}

// completed reports whether the frames of a stream say that the turn has completed.
func completed(stream []byte) bool {
	for line := range strings.Lines(string(stream)) {
		data, isData := strings.CutPrefix(line, "data: ")
		if !isData {
			continue
		}
		var frame Event
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			log.Fatal(err, line)
		}
		event, err := frame.ValueByDiscriminator()
		if err != nil {
			log.Fatal(err, line)
		}
		if end, ok := event.(SessionCompletedEvent); ok {
			return end.SessionId != [16]byte{}
		}
	}
	return false
}
