/** Makes the code of this process behave as on another platform, until it is disposed of. */
export function pretendPlatform(value: NodeJS.Platform): Disposable {
  const own = Object.getOwnPropertyDescriptor(process, "platform") ?? {};
  Object.defineProperty(process, "platform", { ...own, value });
  return { [Symbol.dispose]: () => void Object.defineProperty(process, "platform", own) };
}
