// Package document compares, changes and merges the contents of documents. It owns no state and reads no store: every
// function is pure, and its input is hostile: sizes, depths, counts and the time of comparisons are bounded, and a
// refusal is a CodeInvalid (or CodeTooLarge) parley.Error with a sentence for the person or the model that wrote the
// input.
//
//   - JSON: DiffJSON, ApplyPatch and MergeJSON work on values, so that white space and the order of names do not count;
//     the result keeps the order and the digits of its input. At reads a JSON Pointer.
//   - Text: DiffText, ApplyEdits, MergeText and Lines.
//   - Both: TraceJSON and TraceLines follow a passage back to the content that its content was made from.
//   - Bytes: Pack and Unpack keep content as a compressed patch on an older one.
//
// For all contents a and b within the bounds: ApplyPatch(a, DiffJSON(a, b)) is b, Unpack(a, Pack(a, b)) is b, and a
// merge that succeeds gives the same with its sides exchanged.
package document
