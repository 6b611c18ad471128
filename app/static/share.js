// The address of what is shown, into the clipboard; where there is none, into words to copy by hand.

/** Copy an address; returns what to say about it. */
export async function share(address) {
  try {
    await navigator.clipboard.writeText(address);
    return "Link copied";
  } catch {
    return `The browser did not let us copy; the link is ${address}`; // no clipboard but on https and localhost
  }
}
