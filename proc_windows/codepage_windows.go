package procwindows

import "golang.org/x/sys/windows"

const codePageUTF8 = 65001

// systemPage is a code page that the system has tables for.
type systemPage uint32

// consolePage is the code page that a new console writes in: the system's OEM
// code page. It is nil where that is UTF-8.
func consolePage() codePage {
	if cp := oemCodePage(); cp != codePageUTF8 {
		return systemPage(cp)
	}
	return nil
}

func (cp systemPage) isLead(b byte) bool { return isLeadByte(uint32(cp), b) }

func (cp systemPage) decode(char []byte) string {
	var wide [4]uint16
	const strict = 8 // MB_ERR_INVALID_CHARS
	n, err := windows.MultiByteToWideChar(uint32(cp), strict, &char[0], int32(len(char)), &wide[0], int32(len(wide)))
	if err != nil {
		return ""
	}
	return windows.UTF16ToString(wide[:n])
}
