// A page that is printed gets another width, and no frame until the printer has it. So its host says this event; its style
// gives the page the printed width while the root has the class of this name.
export const PRINTING = "enc-printing";
export const isPrinting = () => document.documentElement.classList.contains(PRINTING);
