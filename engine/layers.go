package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// layersOf returns the middleware that a call's request went through. It returns CodeNotFound for middleware that is
// missing here; any other error is the store's.
func (e *Engine) layersOf(ctx context.Context, scope store.Scope, call *parley.Call) (prompt.Layers, error) {
	text, err := e.callText(ctx, scope, call.MiddlewareHash)
	if err != nil {
		return prompt.Layers{}, err
	}
	return prompt.RebuildLayers(call.Manifest.Middleware, text, e.middleware)
}

// encodeAgain passes a call's rebuilt request through its middleware, and encodes it the same way. It also returns what
// the middleware does to answers; nil if it leaves them unchanged. An error is the wire's refusal, or the context's
// end.
func encodeAgain(
	ctx context.Context,
	layers prompt.Layers,
	call *parley.Call,
	adapter model.Model,
	request *model.Request,
) (model.EncodedRequest, model.AnswerFilter, error) {
	request.CacheKey, request.CacheTTL = call.Manifest.CacheKey, call.Manifest.CacheTTL
	filter, err := layers.Request(
		ctx,
		model.Exchange{WorkspaceID: call.WorkspaceID, SessionID: call.SessionID},
		request,
	)
	if err != nil {
		return model.EncodedRequest{}, nil, err
	}
	var encoded model.EncodedRequest
	if call.EncoderVersion > 0 {
		encoded, err = adapter.EncodeAs(call.EncoderVersion, *request)
	} else {
		encoded, err = adapter.Encode(*request)
	}
	return encoded, filter, err
}
