import { expect, test } from 'vitest';
import { rawMember } from './raw';

test('a member is cut out unchanged', () => {
  const request = '{"10":1.50,"2":"\\u003ca\\"}{","big":12345678901234567890,"list":[1,[2,{"x":"]"}]]}';
  const whole = `{"id":"{\\"request\\":1}","n":-1.5e3,"none":null, "parts":[{"request":7}],"request":${request},"then":true}`;
  expect(rawMember(whole, 'request')).toBe(request);
  expect(rawMember(whole, 'then')).toBe('true');
  expect(rawMember(whole, 'n')).toBe('-1.5e3');
  expect(rawMember(whole, 'none')).toBe('null');
  expect(rawMember(whole, 'missing')).toBe('');
  expect(rawMember('{}', 'x')).toBe('');
});
