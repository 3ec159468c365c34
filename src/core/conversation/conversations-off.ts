/** The error for an agent that uses what `conversations: false` has switched off. */
export function conversationsOff(feature: string): TypeError {
  return new TypeError(
    `${feature} needs conversations, which are off: remove \`conversations: false\` from the options of the agent`,
  );
}
