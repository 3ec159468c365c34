// Who hears of members of the answer at hand that cannot be read, and which extensions its call activated. Only such a member
// asks for them, which is rare, so they are no arguments of every reader in every version: reading is synchronous, and the
// caller sets them for that time.

/** Hears of a member that cannot be read and is left out: `artifacts[0].name`, "a number". */
export type ReportOmission = (path: string, kind: string) => void;

/** Who hears of members that are left out of the answer. */
export let reportOmission: ReportOmission | undefined;
/** Extensions that the call of the answer activated; `metadata` with a member of one of them is not left out. */
export let activeExtensions: readonly string[] | undefined;

/** Reads an answer that a client got for a call. */
export function readAnswer<T>(
  { onLeftOut }: { readonly onLeftOut?: ReportOmission | undefined },
  { extensions }: { readonly extensions?: readonly string[] | undefined },
  read: () => T,
): T {
  reportOmission = onLeftOut;
  activeExtensions = extensions;
  try {
    return read();
  } finally {
    reportOmission = activeExtensions = undefined;
  }
}
