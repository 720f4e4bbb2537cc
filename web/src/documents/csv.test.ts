import { expect, test } from 'vitest';
import { tableOf } from './csv';

const rows = (text: string) => tableOf(text, 100).rows;

test('fields end at commas and rows at line ends', () => {
  expect(rows('a,b\n1,2\n')).toEqual([['a', 'b'], ['1', '2']]);
  expect(rows('a,b\r\n1,2')).toEqual([['a', 'b'], ['1', '2']]);
  expect(rows('a,\n,b')).toEqual([['a', ''], ['', 'b']]);
  expect(rows('a,')).toEqual([['a', '']]);
  expect(rows('')).toEqual([]);
});

test('a quoted field holds commas, line ends and doubled quotes', () => {
  expect(rows('"a, ""b""\nc",d\n')).toEqual([['a, "b"\nc', 'd']]);
  expect(rows('"never closed, \n')).toEqual([['never closed, \n']]);
});

test('rows beyond the bound are counted', () => {
  expect(tableOf('1\n2\n3\n', 2)).toEqual({ rows: [['1'], ['2']], left: 1 });
});
